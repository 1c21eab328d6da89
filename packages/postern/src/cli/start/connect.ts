import { RuntimeFault } from "@postern/core";
import type { PosternClient } from "@postern/core/contract";
import { removeTemporaryFolder, temporaryFolder } from "@postern/core/system";
import { createClient } from "../../server/client/client.ts";
import { readToken, type TokenRole } from "../../server/credentials.ts";
import type { GlobalFlags, Host, Inside, InsideNeeds } from "../host.ts";
import { exists, requireDataFolder } from "./data-folder.ts";
import { remoteOf } from "./remote.ts";
import { type BusyState, findServer, findServerOrLock, waitingFor } from "./server-file.ts";

export interface Connection {
  /** Calls and waits. */
  readonly agent: PosternClient;
  /** Decides and administers; may not decide what it asked for itself. */
  readonly operator: PosternClient;
  /** Whether this Postern goes on after the command. */
  readonly running: boolean;
  /** Where its console is, while it runs. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The Postern a command talks to: the one that `--url` names, with one token for all; else the one that `--port` names, else the one of the data folder, else one that is started
 * inside. If only the configuration is needed, `--port` is the port to listen on, and a data folder that does not exist
 * is replaced by a temporary one. Tokens are read from the data folder, so that no command line holds one.
 */
export async function connect(host: Host, flags: GlobalFlags, needs: InsideNeeds): Promise<Connection> {
  const remote = await remoteOf(flags);
  if (remote !== undefined) {
    const client = createClient(remote);
    return { agent: client, operator: client, running: true, url: remote.url, close: async () => {} };
  }
  const dataFolder = await host.dataFolder(flags);
  const needsOnlyConfiguration = needs.dataFolder === "optional";
  if (!needsOnlyConfiguration) requireDataFolder(dataFolder);
  const port = host.wantedPort(flags);
  const waiting = (state: BusyState): void => host.terminal.aside(waitingFor[state]);
  if (port !== undefined && !needsOnlyConfiguration) {
    const running = await findServer(dataFolder, host.clock, waiting);
    return clients(running?.port === port ? running.url : `http://127.0.0.1:${port}`, dataFolder);
  }
  await using opened = new AsyncDisposableStack();
  const data = exists(dataFolder) ? dataFolder : opened.adopt(temporaryFolder("look"), removeTemporaryFolder);
  const found = await findServerOrLock(data, host.clock, waiting);
  if ("server" in found) return clients(found.server.url, dataFolder);
  opened.use(found.lock);
  const inside = await host.startInside({ ...flags, data }, needs);
  opened.defer(() => inside.close());
  const connected = await clients(inside.url, data, inside.send);
  const all = opened.move();
  return { ...connected, running: false, close: () => all.disposeAsync() };
}

async function clients(url: string, dataFolder: string, send?: Inside["send"]): Promise<Connection> {
  const client = async (role: TokenRole): Promise<PosternClient> =>
    createClient({ url, token: await tokenIn(dataFolder, role), ...(send !== undefined && { send }) });
  return {
    ...{ agent: await client("agent"), operator: await client("operator"), running: true, url },
    close: async () => {},
  };
}

async function tokenIn(folder: string, role: TokenRole): Promise<string> {
  const token = await readToken(folder, role);
  if (token !== undefined) return token;
  const fix = "Name the running Postern's folder with `--data DIR`, or run `postern start` once to make it.";
  throw new RuntimeFault("token_missing", `There is no ${role}.token in ${folder}. ${fix}`);
}
