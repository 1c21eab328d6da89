import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { Consumer, JetStreamClient, JetStreamManager, MsgRequest, StreamConfig } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { type Clock, messageOf, RuntimeFault } from "@postern/core";
import type { ResolveSecret } from "../secrets/lend.ts";
import { withSecrets } from "../secrets/secret-reference.ts";

/** Where NATS is and how to sign in there. Paths are absolute. */
export interface NatsSettings {
  /** `nats://HOST:PORT`, or `tls://HOST:PORT`. */
  readonly url: string;
  readonly credentialsFile?: string;
  readonly user?: string;
  /** Secrets by reference: `secret://connector/key`. */
  readonly password?: string;
  readonly token?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
}

/** The streams. A day is enough for a gateway to come back and read what its workers answered. */
export const dayMs = 86_400_000;
const millisecondNs = 1_000_000;
const secondNs = 1_000 * millisecondNs;
export const streams = { orders: "POSTERN_ORDERS", done: "POSTERN_DONE", dead: "POSTERN_DEAD" } as const;
const streamConfigs: readonly (Partial<StreamConfig> & { readonly name: string })[] = [
  { name: streams.orders, subjects: ["orders.*"], retention: "workqueue", storage: "file", max_age: 600 * secondNs },
  {
    ...{ name: streams.done, subjects: ["done.>", "taken.>"] },
    ...{ retention: "limits", storage: "file", max_age: dayMs * millisecondNs, deny_delete: true, deny_purge: true },
  },
  {
    ...{ name: streams.dead, subjects: ["dead.*"], retention: "limits", storage: "file" },
    ...{ max_age: 7 * 86_400 * secondNs, max_msgs: 1_000 },
  },
];

interface Libraries {
  readonly transport: typeof import("@nats-io/transport-node");
  readonly jetstream: typeof import("@nats-io/jetstream");
}

export interface NatsOptions {
  readonly clock: Clock;
  readonly resolve: ResolveSecret;
  /** How the server lists this connection. */
  readonly name: string;
  readonly log: (problem: string) => void;
  /** If the server cannot be reached, connect in the background. Default: that is a fault. */
  readonly background?: boolean;
}

const tryAgainMs = 1_000;
/** How long a publish waits for JetStream, in milliseconds. */
const publishMs = 5_000;

/** What became of a publish: `unsure` if the answer of the server is missing. */
export type Published = "stored" | "exists" | "refused" | "unsure";

/** One connection, which reconnects by itself, and its streams, which are made if they are missing. */
export class NatsLink implements AsyncDisposable {
  readonly #settings: NatsSettings;
  readonly #options: NatsOptions;
  readonly #libraries: Libraries;
  readonly #whenConnected: ((first: boolean) => void | Promise<void>)[] = [];
  #live:
    | { readonly connection: NatsConnection; readonly jetstream: JetStreamClient; readonly manager: JetStreamManager }
    | undefined;
  /** Of the group whose orders are taken. */
  #consumer: Consumer | undefined;
  #connected = false;
  #closed = false;
  #cancelTry: (() => void) | undefined;
  #doneMade: string | undefined;
  #problem: string | undefined;

  /** @throws RuntimeFault `dependency_missing`, `nats_unusable` */
  static async open(settings: NatsSettings, options: NatsOptions): Promise<NatsLink> {
    const link = new NatsLink(settings, options, await libraries());
    try {
      await link.#connect();
    } catch (error) {
      const fault = link.#faultOf(error);
      if (options.background !== true || !link.#isUnreachable(error)) throw fault;
      link.#later(fault);
    }
    return link;
  }

  private constructor(settings: NatsSettings, options: NatsOptions, loaded: Libraries) {
    this.#settings = settings;
    this.#options = options;
    this.#libraries = loaded;
  }

  get connected(): boolean {
    return this.#connected;
  }

  get url(): string {
    return this.#settings.url;
  }

  /** Why it is not connected. */
  get problem(): string {
    return this.#problem ?? `NATS at \`${this.#settings.url}\` is not connected`;
  }

  /** When the stream of answers was made. After another value, what was in it is lost. */
  get storeMade(): string | undefined {
    return this.#doneMade;
  }

  /** The largest message, in bytes. */
  get maxBytes(): number {
    return this.#live?.connection.info?.max_payload ?? 1_048_576;
  }

  /** Calls `then` now if it is connected, and each time that it is connected again. */
  async whenConnected(then: (first: boolean) => void | Promise<void>): Promise<void> {
    this.#whenConnected.push(then);
    if (this.#live !== undefined) await then(true);
  }

  /** Not stored: who does not listen now never gets it. */
  publish(subject: string, text: string): void {
    if (this.#live?.connection.isClosed() === false) this.#live.connection.publish(subject, text);
  }

  /** Only from inside `whenConnected`. A subscription outlives a lost connection. */
  subscribe(subject: string, take: (text: string, subject: string) => void): void {
    this.#live?.connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) take(message.string(), message.subject);
        else this.#options.log(`NATS refuses \`${subject}\`: ${error.message}. Allow it to this user.`);
      },
    });
  }

  /** @param once only if the subject has no message yet; else it `exists` */
  async store(
    subject: string,
    text: string,
    { id, once = false }: { readonly id?: string; readonly once?: boolean },
  ): Promise<Published> {
    if (this.#live === undefined || !this.#connected) return "unsure";
    const { JetStreamApiError } = this.#libraries.jetstream;
    try {
      await this.#live.jetstream.publish(subject, text, {
        timeout: publishMs,
        ...(id !== undefined && { msgID: id }),
        ...(once && { expect: { lastSubjectSequence: 0 } }),
      });
      return "stored";
    } catch (error) {
      if (error instanceof JetStreamApiError) return error.code === 10_071 ? "exists" : "refused";
      return isNotEnabled(error) ? "refused" : "unsure"; // a subject of no stream has this answer too
    }
  }

  /** The messages of a subject in a stream, oldest first. */
  async *stored(stream: string, subject: string): AsyncGenerator<{ readonly text: string; readonly at: number }> {
    for (let seq = 1; ; ) {
      const found = await this.#live?.manager.streams
        .getMessage(stream, { seq, next_by_subj: subject } as MsgRequest) // the server knows it, the types do not
        .catch(() => null); // there is no further one
      if (found === null || found === undefined) return;
      yield { text: found.string(), at: found.time.getTime() };
      seq = found.seq + 1;
    }
  }

  /** The next order of the group, or undefined if none came in a second. It counts as delivered, once and for all. */
  async nextOrder(group: string, subject: string): Promise<string | undefined> {
    if (this.#live === undefined) return undefined;
    this.#consumer ??= await this.#live.jetstream.consumers.get(streams.orders, group);
    const message = await this.#consumer.next({ expires: 1_000 });
    if (message === null) return undefined;
    message.ack();
    return message.subject === subject ? message.string() : undefined;
  }

  /** Orders are delivered once: a worker that dies with one never gives it back. */
  async makeConsumer(group: string, subject: string): Promise<void> {
    this.#consumer = undefined;
    await this.#live?.manager.consumers.add(streams.orders, {
      ...{ durable_name: group, filter_subject: subject, ack_policy: "explicit", max_deliver: 1 },
      max_ack_pending: 10_000,
    });
  }

  async flush(): Promise<void> {
    if (this.#connected) await this.#live?.connection.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#cancelTry?.();
    await this.#live?.connection.close();
  }

  async #connect(): Promise<void> {
    const { transport, jetstream } = this.#libraries;
    const connection = await transport.connect({ ...(await this.#connectionOptions()), name: this.#options.name });
    try {
      const live = {
        connection,
        jetstream: jetstream.jetstream(connection),
        manager: await jetstream.jetstreamManager(connection),
      };
      await this.#makeStreams(live.manager);
      this.#live = live;
    } catch (error) {
      await connection.close();
      throw error;
    }
    if (this.#closed) return connection.close();
    this.#connected = true;
    void this.#follow(connection);
    await this.#announce(true);
  }

  async #connectionOptions(): Promise<Parameters<Libraries["transport"]["connect"]>[0]> {
    const { url, credentialsFile, user, password, token, caFile, certFile, keyFile } = this.#settings;
    const { resolve } = this.#options;
    const credentials = credentialsFile === undefined ? undefined : await fileOf(credentialsFile, "credentials_file");
    const host = new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
    const files = { ca_file: caFile, cert_file: certFile, key_file: keyFile };
    for (const [setting, file] of Object.entries(files)) if (file !== undefined) await fileOf(file, setting); // the library reads it at each connection
    const isTls = url.startsWith("tls://") || caFile !== undefined || certFile !== undefined;
    return {
      ...{ servers: url, timeout: 3_000, maxReconnectAttempts: -1, reconnectTimeWait: 250, ignoreAuthErrorAbort: true },
      ...(credentials !== undefined && { authenticator: this.#libraries.transport.credsAuthenticator(credentials) }),
      ...(user !== undefined && password !== undefined && { user, pass: await withSecrets(password, resolve) }),
      ...(token !== undefined && { token: await withSecrets(token, resolve) }),
      // The library gives the name of a host to TLS, and no address: then a certificate would be compared with `localhost`.
      ...(isTls && {
        tls: {
          ...(isIP(host) && { host }),
          ...(caFile && { caFile }),
          ...(certFile && { certFile }),
          ...(keyFile && { keyFile }),
        },
      }),
    };
  }

  async #makeStreams(manager: JetStreamManager): Promise<void> {
    for (const config of streamConfigs) {
      const info = await manager.streams.info(config.name).catch(() => manager.streams.add(config));
      if (config.name === streams.done) this.#doneMade = info.created;
    }
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === "disconnect") {
        this.#connected = false;
        this.#problem = `NATS at \`${this.#settings.url}\` is not connected`;
        this.#options.log(`${this.#problem}; it is tried again.`);
      }
      if (type === "reconnect") await this.#reconnected();
    }
    this.#connected = false;
  }

  async #reconnected(): Promise<void> {
    try {
      if (this.#live !== undefined) await this.#makeStreams(this.#live.manager); // NATS may have lost them
    } catch (error) {
      this.#options.log(`NATS is back, but its streams cannot be used: ${messageOf(error)}.`);
    }
    this.#connected = true;
    try {
      await this.#announce(false);
    } catch (error) {
      this.#options.log(`NATS is back, but does not answer yet: ${messageOf(error)}.`);
    }
  }

  async #announce(first: boolean): Promise<void> {
    for (const then of this.#whenConnected) await then(first);
  }

  #later(fault: RuntimeFault): void {
    this.#problem = fault.message;
    this.#options.log(`${fault.message} It is tried again.`);
    const again = (): void => {
      this.#connect().catch((error: unknown) => {
        this.#problem = this.#faultOf(error).message;
        if (!this.#closed) this.#cancelTry = this.#options.clock.in(tryAgainMs, again, false);
      });
    };
    this.#cancelTry = this.#options.clock.in(tryAgainMs, again, false);
  }

  #isUnreachable(error: unknown): boolean {
    const { ConnectionError, TimeoutError } = this.#libraries.transport.errors;
    return error instanceof ConnectionError || error instanceof TimeoutError;
  }

  /** NATS closes the connection without a word to a client that lacks a certificate. */
  #clientCertificate(): string {
    const { url, certFile } = this.#settings;
    const mayLack = url.startsWith("tls://") && certFile === undefined;
    return mayLack ? " If it asks clients for a certificate, give `cert_file` and `key_file`." : "";
  }

  #faultOf(error: unknown): RuntimeFault {
    if (error instanceof RuntimeFault) return error;
    return new RuntimeFault("nats_unusable", this.#sentenceOf(error), { cause: error });
  }

  #sentenceOf(error: unknown): string {
    const at = `NATS at \`${this.#settings.url}\` (\`workers.nats.url\`)`;
    const { AuthorizationError } = this.#libraries.transport.errors;
    if (error instanceof AuthorizationError)
      return `${at} refuses the credentials; check \`credentials_file\`, \`user\` and \`password\`, or \`token\` of \`workers.nats\`.`;
    if (isNotEnabled(error))
      return `${at} runs without JetStream; start it with \`nats-server -js\`, or with a \`jetstream\` block in its configuration.`;
    const advice = certificateAdvice.get(codeOf(error));
    if (advice !== undefined) return `${at} cannot be used: ${messageOf(error).replace(/;.*/s, "")}. ${advice}`;
    if (this.#isUnreachable(error)) return `${at} cannot be reached: ${messageOf(error)}.${this.#clientCertificate()}`;
    return `${at} cannot be used: ${messageOf(error)}.`;
  }
}

const trustIt = "Name the certificate of its authority as `ca_file` of `workers.nats`.";
const certificateAdvice: ReadonlyMap<string, string> = new Map([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", trustIt],
  ["SELF_SIGNED_CERT_IN_CHAIN", trustIt],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", trustIt],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", trustIt],
  ["CERT_HAS_EXPIRED", "Give NATS a new certificate."],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "Write a name of its certificate into `url`."],
]);

/** Of the error, or of its cause. */
function codeOf(error: unknown): string {
  const { code, cause } = Object(error) as { readonly code?: unknown; readonly cause?: unknown };
  return typeof code === "string" ? code : cause === undefined ? "" : codeOf(cause);
}

/** The library does not export the class. */
function isNotEnabled(error: unknown): boolean {
  return error instanceof Error && error.name === "JetStreamNotEnabled";
}

async function fileOf(path: string, setting: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new RuntimeFault("config_invalid", `\`workers.nats.${setting}\` cannot be read: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

/** Loaded only if workers are configured. */
async function libraries(): Promise<Libraries> {
  try {
    const [transport, jetstream] = await Promise.all([import("@nats-io/transport-node"), import("@nats-io/jetstream")]);
    return { transport, jetstream };
  } catch (error) {
    throw new RuntimeFault(
      "dependency_missing",
      "Workers need the packages `@nats-io/transport-node` and `@nats-io/jetstream`: run `npm install @nats-io/transport-node @nats-io/jetstream`.",
      { cause: error },
    );
  }
}
