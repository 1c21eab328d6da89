import { expect } from "vitest";
import type { HttpServerOptions } from "../../packages/postern/src/server/http/http-server.ts";
import { bodyOf, type HttpFixture, host, httpFixture } from "./http-fixture.ts";
import { goodPassword, type People, people } from "./people.ts";
import { type StubCall, stubRuntime } from "./stub-runtime.ts";

/** Accounts that can sign in at an HTTP server. */
export interface Scene {
  readonly crowd: People;
  readonly http: HttpFixture;
  /** The calls of the runtime. */
  readonly requests: readonly StubCall[];
  signIn(name: string): Promise<{
    readonly cookie: string;
    readonly csrf: string;
    readonly setCookie: string;
    /** The headers of a page that only reads. */
    readonly shown: Readonly<Record<string, string>>;
  }>;
}

export async function scene(
  more: Pick<Partial<HttpServerOptions>, "command" | "hosts" | "oauth" | "trustedProxies"> = {},
): Promise<Scene> {
  const users = await people();
  const { accounts, clock } = users;
  const { runtime, requests } = stubRuntime();
  const http = await httpFixture(runtime, { accounts, clock, hosts: [host, "https://gate.example"], ...more });
  return {
    crowd: users,
    http,
    requests,
    signIn: async (name) => {
      const answered = await http.ask("/v1/session", { body: { name, password: goodPassword } });
      expect(answered.status).toBe(200);
      const setCookie = answered.headers.get("set-cookie") ?? "";
      const cookie = setCookie.split(";")[0] ?? "";
      const csrf = String((await bodyOf(answered))["csrf"]);
      return { cookie, csrf, setCookie, shown: { cookie, "x-postern-csrf": csrf } };
    },
  };
}
