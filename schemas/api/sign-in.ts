/** Signing in to the console. */
import { Type } from "typebox";
import { orNull } from "./records.ts";

export const SignInOptions = Type.Object(
  {
    signed_in: Type.Boolean({ description: "The request has a valid session or key." }),
    oidc: orNull(
      Type.Object({
        name: Type.String({ description: "Of the identity provider, for people." }),
        url: Type.String({ description: "A browser goes there to sign in." }),
      }),
      { description: "Null: only API keys can be used." },
    ),
  },
  { title: "SignInOptions" },
);

/** Why a sign-in failed: `?sign_in=` of the console. */
export const SIGN_IN_FAULTS = ["denied", "expired", "provider", "no_role", "no_account", "too_many"] as const;
export type SignInFault = (typeof SIGN_IN_FAULTS)[number];

export const SignedOut = Type.Object({ signed_out: Type.Literal(true) }, { title: "SignedOut" });
