import { RuntimeFault } from "../core/fault.ts";
import { createClient, type PosternClient } from "../server/client/client.ts";
import { readToken, type TokenRole } from "../server/credentials.ts";
import { booksToLook, requireDataFolder } from "./data-folder.ts";
import type { GlobalFlags, Host, Inside, InsideNeeds } from "./host.ts";
import { findServer, findServerOrBooks, type Passing, waitingFor } from "./server-file.ts";

export interface Connection {
  /** Calls and waits. */
  readonly agent: PosternClient;
  /** Decides and administers; may not decide what it asked for itself. */
  readonly operator: PosternClient;
  /** Whether it is a Postern that goes on after this command. */
  readonly running: boolean;
  /** Where its console is, while it runs. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The Postern a command talks to: the one `--port` names, else the one that says in the data folder that it runs or is
 * being started, else one started inside. To look at the configuration alone, `--port` is where it would listen. Tokens are read from the data folder each time, so that nobody passes them on a command line.
 */
export async function connect(host: Host, flags: GlobalFlags, needs: InsideNeeds): Promise<Connection> {
  const dataFolder = await host.dataFolder(flags);
  if (needs.books !== "any") requireDataFolder(dataFolder);
  const port = host.wantedPort(flags);
  const waiting = (what: Passing): void => host.terminal.aside(waitingFor[what]);
  if (port !== undefined && needs.books !== "any") {
    const running = await findServer(dataFolder, host.clock, waiting);
    return clients(running?.port === port ? running.url : `http://127.0.0.1:${port}`, dataFolder);
  }
  await using opened = new AsyncDisposableStack();
  const { folder: data } = opened.use(booksToLook(dataFolder));
  const found = await findServerOrBooks(data, host.clock, waiting);
  if ("server" in found) return clients(found.server.url, dataFolder);
  opened.use(found.books);
  const inside = await host.startInside({ ...flags, data }, needs);
  opened.defer(() => inside.close());
  const connected = await clients(inside.url, data, inside.send);
  const all = opened.move();
  return { ...connected, running: false, close: () => all.disposeAsync() };
}

async function clients(url: string, dataFolder: string, send?: Inside["send"]): Promise<Connection> {
  const client = async (role: TokenRole): Promise<PosternClient> =>
    createClient({
      url,
      token: await tokenIn(dataFolder, role),
      ...(send !== undefined && { send }),
    });
  return {
    agent: await client("agent"),
    operator: await client("operator"),
    running: true,
    url,
    close: async () => {},
  };
}

async function tokenIn(folder: string, role: TokenRole): Promise<string> {
  const token = await readToken(folder, role);
  if (token !== undefined) return token;
  const fix = "Name the running Postern's folder with `--data DIR`, or run `postern start` once to make it.";
  throw new RuntimeFault("token_missing", `There is no ${role}.token in ${folder}. ${fix}`);
}
