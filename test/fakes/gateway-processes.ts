import type { ChildProcess } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { PosternClient } from "../../packages/core/src/contract/client.ts";
import { createClient } from "../../packages/postern/src/server/client/client.ts";
import { type Ended, PosternProcess } from "./postern-process.ts";

/** One gateway: `postern start` in a process of its own. */
export interface GatewayProcess {
  readonly url: string;
  readonly port: number;
  readonly operator: PosternClient;
  /** What it wrote to its log. */
  readonly log: () => string;
  /** Ends it as a crash does. */
  kill(): Promise<Ended>;
}

/** Gateways of one store: each has a data folder of its own. Tokens and keys come from the same mounted files. */
export class GatewayProcesses extends PosternProcess implements AsyncDisposable {
  readonly operatorToken: string = randomBytes(32).toString("base64url");
  readonly agentToken: string = randomBytes(32).toString("base64url");
  readonly #logs = new Map<ChildProcess, string>();
  readonly #started: { readonly child: ChildProcess; readonly end: Promise<Ended> }[] = [];

  /** @param config what differs from a plain configuration */
  constructor(store: string, config: object = {}) {
    super();
    const keys = join(this.folder, "keys");
    mkdirSync(keys);
    const audit = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
    const texts = {
      POSTERN_OPERATOR_TOKEN: this.operatorToken,
      POSTERN_LOCAL_AGENT_TOKEN: this.agentToken,
      POSTERN_AUDIT_KEY: String(audit),
      POSTERN_CHAINS_KEY: randomBytes(32).toString("base64"),
    };
    for (const [name, text] of Object.entries(texts)) {
      this.environment[`${name}_FILE`] = join(keys, name);
      writeFileSync(join(keys, name), text);
    }
    const plain = { version: 1, store, tools: { modules: ["./tools.ts"] }, listen: { port: 0 } };
    writeFileSync(join(this.folder, "postern.yaml"), stringify({ ...plain, ...config }));
  }

  /** @param config another file than the one of the others */
  async gateway(name: string, config = "postern.yaml"): Promise<GatewayProcess> {
    const data = this.dataFolder(name);
    const { child, end } = await this.start(data, "--config", config, "--port", "0");
    this.#started.push({ child, end });
    const { url, port } = JSON.parse(readFileSync(join(data, "server.json"), "utf8"));
    return {
      ...{ url, port, operator: createClient({ url, token: this.operatorToken }) },
      log: () => this.#logs.get(child) ?? "",
      kill: () => {
        child.kill("SIGKILL");
        return end;
      },
    };
  }

  override open(words: readonly string[], cwd?: string): ReturnType<PosternProcess["open"]> {
    const opened = super.open(words, cwd);
    const { child } = opened;
    child.stderr?.on("data", (chunk: Buffer) => this.#logs.set(child, `${this.#logs.get(child) ?? ""}${chunk}`));
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#started) child.kill("SIGKILL");
    await Promise.all(this.#started.map(({ end }) => end));
    this[Symbol.dispose]();
  }
}
