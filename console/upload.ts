/** Uploads with progress, which `fetch` cannot tell. */
import { ApiError, readProblem, type Source } from "../client/client.ts";
import { base, session } from "./session.ts";

export interface Upload {
  readonly done: Promise<Source>;
  cancel(): void;
}

/** `done` rejects with `ApiError`; `onProgress` hears of fractions from 0 to 1. */
export function uploadVideo(file: File, alias: string, onProgress: (share: number) => void): Upload {
  const request = new XMLHttpRequest();
  const form = new FormData();
  if (alias !== "") form.set("alias", alias);
  form.set("file", file);
  const done = new Promise<Source>((resolve, reject) => {
    const refuse = (detail: string) => reject(new ApiError(0, { code: "no_answer", detail }));
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
    request.onerror = () => refuse("the connection broke off; nothing was kept");
    request.onabort = () => refuse("the upload was cancelled; nothing was kept");
    request.onload = () => {
      const { status, response } = request;
      if (status >= 200 && status < 300 && response !== null) resolve(response);
      else reject(new ApiError(status, readProblem(response), request.getResponseHeader("Retry-After")));
    };
  });
  request.open("POST", `${base}/video`);
  request.responseType = "json";
  request.setRequestHeader("api_key", session.value?.apiKey ?? "");
  request.send(form);
  return { done, cancel: () => request.abort() };
}
