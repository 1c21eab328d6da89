import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

export type Claims = Readonly<Record<string, unknown>>;

/** A real OpenID provider and a person's browser. */
export class OpenIdProvider implements AsyncDisposable {
  readonly issuer: string;
  readonly #child: ChildProcess;

  private constructor(issuer: string, child: ChildProcess) {
    this.issuer = issuer;
    this.#child = child;
  }

  /** @param users claims by login */
  static async start(redirectUri: string, users: Readonly<Record<string, Claims>>): Promise<OpenIdProvider> {
    const script = join(import.meta.dirname, "openid-provider-process.js");
    const child = spawn(process.execPath, [script, JSON.stringify([redirectUri]), JSON.stringify(users)], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) if (line.startsWith("http://")) return new OpenIdProvider(line, child);
    throw new Error("The provider did not start.");
  }

  /** Signs in and accepts everything. Returns the final address, without requesting it. */
  signIn(url: string, login: string): Promise<URL> {
    return signInAt(this.issuer, url, login);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }
}

/** A person's browser at a provider: signs in and accepts everything. Returns the final address, without requesting it. */
export async function signInAt(issuer: string, url: string, login: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = await go(url, cookies);
  for (let steps = 0; steps < 20; steps += 1) {
    if (!next.startsWith(issuer)) return new URL(next);
    const isForm = new URL(next).pathname.startsWith("/interaction/");
    next = isForm ? await answered(next, login, cookies) : await go(next, cookies);
  }
  throw new Error(`The provider goes round in circles at ${next}.`);
}

async function answered(page: string, login: string, cookies: Map<string, string>): Promise<string> {
  const text = await (await ask(page, cookies)).text();
  const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1] ?? "";
  return go(page, cookies, new URLSearchParams({ prompt, login, password: "any" }));
}

async function go(url: string, cookies: Map<string, string>, form?: URLSearchParams): Promise<string> {
  const response = await ask(url, cookies, form);
  const location = response.headers.get("location");
  if (location === null) throw new Error(`${response.status} at ${url}: ${(await response.text()).slice(0, 500)}`);
  return new URL(location, url).href;
}

async function ask(url: string, cookies: Map<string, string>, form?: URLSearchParams): Promise<Response> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await fetch(url, {
    redirect: "manual",
    headers: { cookie },
    ...(form !== undefined && { method: "POST", body: form }),
  });
  for (const line of response.headers.getSetCookie()) {
    const [name = "", value = ""] = line.split(";")[0]?.split("=") ?? [];
    if (value === "") cookies.delete(name);
    else cookies.set(name, value);
  }
  return response;
}
