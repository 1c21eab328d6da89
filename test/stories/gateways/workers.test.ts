/** Workers with two gateways on one PostgreSQL, and NATS over TLS, as real processes. */
import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasNats, NatsServer } from "../../fakes/nats-server.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { WorkerScene } from "../../fakes/worker-scene.ts";

const postgres = testPostgres();
const timeout = 60_000;
const sameCall = ["there_hold", { name: "h" }, { idempotency_key: "k1" }] as const;

/** Two gateways with one audit key and the worker that both order from. */
async function running(scene: WorkerScene): Promise<{ readonly a: Awaited<ReturnType<WorkerScene["startGateway"]>> }> {
  scene.store = postgres.newStore();
  await scene.pairBoth();
  const a = await scene.startGateway();
  for (const file of ["audit.key", "audit.pub"])
    cpSync(join(scene.folder, "gateway/.postern", file), join(scene.folder, "second/.postern", file));
  await scene.startGateway("second");
  await scene.startWorker();
  for (const at of ["gateway", "second"] as const) {
    scene.at = at;
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(true);
  }
  return { a };
}

describe.runIf(hasNats)("a worker of two gateways", () => {
  it("answers each its own orders, and the other one that of a killed gateway", { timeout: 120_000 }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    const { a } = await running(scene);
    for (const [at, name] of [
      ["gateway", "by a"],
      ["second", "by b"],
    ] as const) {
      scene.at = at;
      expect(await scene.call("there_send", { name })).toMatchObject({ status: "ok", text: `sent ${name}` });
    }
    scene.at = "gateway";
    const lost = scene.call(...sameCall).catch(() => "lost");
    await expect.poll(() => scene.effects, { timeout }).toContain("hold h");
    await scene.kill(a);
    expect(await lost).toBe("lost");
    scene.at = "second";
    expect(await scene.call(...sameCall)).toMatchObject({ code: "in_progress" });
    scene.letGo("h");
    await expect.poll(() => scene.effects, { timeout }).toContain("held h");
    await expect
      .poll(() => scene.call(...sameCall), { timeout, interval: 500 })
      .toMatchObject({ status: "ok", text: "held h" });
    expect(scene.effects.filter((line) => /^(?:hold|held)/.test(line))).toEqual(["hold h", "held h"]);
  });
});

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Signed by itself: for the server, for its clients, and to trust. */
function certificate(): Certificate {
  const folder = ownFolder();
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const names = ["-subj", "/CN=nats", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", [...words, ...names, "-keyout", key, "-out", cert], { stdio: "ignore" });
  return { cert, key };
}

describe.runIf(hasNats)("NATS over TLS", () => {
  it("carries orders with a certificate of each side, and names what is not trusted", { timeout }, async () => {
    const { cert, key } = certificate();
    const tls = ["--tls", "--tlscert", cert, "--tlskey", key, "--tlsverify", "--tlscacert", cert];
    await using nats = await NatsServer.started(...tls);
    const url = nats.url.replace("nats:", "tls:");
    await using scene = new WorkerScene(nats.url);
    scene.nats = `{ url: "${url}", ca_file: "${cert}", cert_file: "${cert}", key_file: "${key}" }`;
    await scene.pair();
    await scene.startGateway();
    await scene.startWorker();
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(true);
    expect(await scene.call("there_send", { name: "a" })).toMatchObject({ status: "ok", text: "sent a" });
    expect(scene.effects).toHaveLength(1);

    for (const [settings, why] of [
      [`{ url: "${url}" }`, "self-signed certificate. Name the certificate of its authority as `ca_file`"],
      [
        `{ url: "${url}", ca_file: "${cert}" }`,
        "If it asks clients for a certificate, give `cert_file` and `key_file`.",
      ],
      [`{ url: "${url}", ca_file: "/missing.pem" }`, "`workers.nats.ca_file` cannot be read"],
    ] as const) {
      scene.nats = settings;
      await scene.pair();
      const { code, err } = await scene.run("worker", "worker", "--group", "linux", "--tools", "./tools.ts");
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(why) });
    }
  });
});
