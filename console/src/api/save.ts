import { good } from "./client.ts";

/** Saves a file: a plain link would be sent without the session's proof. @throws Problem */
export async function save(path: string, fileName: string): Promise<void> {
  const response = await good("GET", path, { headers: { accept: "*/*" } });
  keep(await response.blob(), fileName);
}

/** Saves what the page has already. */
export function keepText(text: string, fileName: string): void {
  keep(new Blob([text], { type: "text/plain" }), fileName);
}

function keep(blob: Blob, fileName: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // some browsers begin to read it later
}
