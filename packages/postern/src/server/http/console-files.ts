/**
 * The console's files at `/`: the same for every caller, without data of any.
 *
 * Invariant: what is served was listed once from one folder; a request only looks a name up, so no path leads out.
 * Nothing inline runs and no other host is asked (CSP); no other page may frame it. Paths of the API never come here.
 * Next: console-build.ts (a checkout builds it when it is asked for first), ../../../console (the sources).
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { codeOf } from "@postern/core/system";

export interface ConsoleFilesOptions {
  /** Where the built files are. Default: `dist/console` of this package. */
  readonly folder?: string;
  /** Makes the folder what it should be, before the first request is answered. Says why it could not. */
  readonly prepare?: (folder: string) => Promise<string | undefined>;
  /** How commands are typed where it was started, without paths. */
  readonly command?: string;
}

interface File {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly etag: string;
  /** Its name holds its content's hash: it never changes. */
  readonly isFixed: boolean;
}

type ConsoleFiles = ReadonlyMap<string, File>;

const types: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
  [".json", "application/json"],
  [".png", "image/png"],
  [".woff2", "font/woff2"],
]);

/** Exported for the tests that hold the page to it. */
export const contentSecurityPolicy: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": contentSecurityPolicy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
};

const builtFolder: string = fileURLToPath(new URL("../../../dist/console", import.meta.url));

/** Answers paths of the console. Returns undefined for any other. */
export function consoleFiles({
  folder = builtFolder,
  prepare,
  command = "postern",
}: ConsoleFilesOptions = {}): (request: Request) => Promise<Response | undefined> {
  let loading: Promise<ConsoleFiles | string> | undefined;
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const { pathname } = new URL(request.url);
    if (!isFile(pathname) && !wantsPage(request)) return undefined;
    loading ??= load(folder, prepare);
    const files = await loading;
    if (typeof files === "string") {
      loading = undefined; // it may be there at the next try
      return isFile(pathname) ? undefined : missing(files, command);
    }
    // Every path without an extension is a place inside the page.
    const file = files.get(isFile(pathname) ? pathname : "/index.html");
    return file === undefined ? undefined : served(file, request);
  };
}

function isFile(pathname: string): boolean {
  return types.has(extname(pathname));
}

/** A browser's navigation. Programs get the API's answer for an unknown path. */
function wantsPage(request: Request): boolean {
  return request.headers.get("accept")?.includes("text/html") === true;
}

async function load(folder: string, prepare: ConsoleFilesOptions["prepare"]): Promise<ConsoleFiles | string> {
  const problem = await prepare?.(folder);
  if (problem !== undefined) return problem;
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const named = entries
      .filter((entry) => entry.isFile() && types.has(extname(entry.name)))
      .map((entry) => join(entry.parentPath, entry.name));
    const files = new Map(await Promise.all(named.map((path) => read(folder, path))));
    return files.has("/index.html") ? files : "It has not been built.";
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "It has not been built.";
    throw error;
  }
}

async function read(folder: string, path: string): Promise<readonly [string, File]> {
  const name = `/${relative(folder, path).split(sep).join("/")}`;
  const bytes = new Uint8Array(await readFile(path));
  return [
    name,
    {
      bytes,
      gzipped: new Uint8Array(await promisify(gzip)(bytes, { level: 9 })),
      type: types.get(extname(name)) ?? "application/octet-stream",
      etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
      isFixed: name.startsWith("/assets/"),
    },
  ];
}

function served(file: File, request: Request): Response {
  const headers = new Headers({
    ...pageHeaders,
    "content-type": file.type,
    "cache-control": file.isFixed ? "public, max-age=31536000, immutable" : "no-cache",
    etag: file.etag,
    vary: "accept-encoding",
  });
  if (request.headers.get("if-none-match")?.includes(file.etag) === true)
    return new Response(null, { status: 304, headers });
  const isZipped = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  if (isZipped) headers.set("content-encoding", "gzip");
  const body = isZipped ? file.gzipped : file.bytes;
  headers.set("content-length", String(body.byteLength));
  return new Response(request.method === "HEAD" ? null : body, { headers });
}

/** Plain, because it is shown when no file of the console exists. */
function missing(why: string, command: string): Response {
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Postern</title>
<h1>Postern runs; its console is not there</h1>
<p>${escaped(why)}</p>
<p>In a checkout, <code>npm install</code> and <code>npm run build --workspace console</code> make it; then load this page again.
Everything it does the command line does too: <code>${escaped(command)} approvals</code>.</p></html>`;
  return new Response(body, {
    status: 503,
    headers: { ...pageHeaders, "content-type": "text/html; charset=utf-8", "cache-control": "no-store" },
  });
}

function escaped(text: string): string {
  return text.replaceAll(/[<>&]/g, (mark) => `&#${mark.codePointAt(0)};`);
}
