/** The map of the console: its background and its terrain shading. */
import { type Static, Type } from "typebox";
import { orNull } from "./records.ts";

const zooms = {
  min_zoom: Type.Integer({ minimum: 0, maximum: 24 }),
  max_zoom: Type.Integer({
    minimum: 0,
    maximum: 24,
    description: "The largest zoom with tiles: for larger ones, these are enlarged.",
  }),
};

export const MapSettings = Type.Object(
  {
    tiles: orNull(
      Type.Object({
        url: Type.String({
          description:
            "Template with `{z}`, `{x}` and `{y}`: an address of another host, in which `{s}` is a, b or c, or a path below this service, which needs the key.",
        }),
        ...zooms,
        attribution: Type.String({ description: "To be shown on the map; may contain HTML. Empty: none." }),
      }),
      { description: "The background (`map.tiles`). Null: none." },
    ),
    terrain: orNull(Type.Object({ url: Type.String({ description: "Template, as for `tiles`." }), ...zooms }), {
      description: "Shading of the operator's terrain (`terrain.folder`), to be laid over the background. Null: none.",
    }),
  },
  { title: "MapSettings" },
);
export type MapSettings = Static<typeof MapSettings>;

const number = (description: string) => Type.String({ pattern: "^(0|[1-9]\\d{0,7})$", description });

/** Of Web Mercator: the origin is in the north-west. */
export const TileParams = Type.Object({
  z: Type.String({ pattern: "^(1?\\d|2[0-4])$", description: "Zoom." }),
  x: number("Column."),
  y: number("Row."),
});
