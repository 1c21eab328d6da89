import { request } from "./client.ts";

/** Saves a file. A plain link would be sent without the session's proof. @throws Problem */
export async function save(path: string, fileName: string): Promise<void> {
  const response = await request("GET", path, { headers: { accept: "*/*" } });
  saveBlob(await response.blob(), fileName);
}

/** Saves what the page has already. */
export function saveText(text: string, fileName: string): void {
  saveBlob(new Blob([text], { type: "text/plain" }), fileName);
}

function saveBlob(blob: Blob, fileName: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // some browsers begin to read it later
}
