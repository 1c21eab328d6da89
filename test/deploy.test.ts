/** The files for servers: each is read by the program that it is for, where that is installed. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../packages/postern/src/config/load.ts";

const deploy = join(import.meta.dirname, "../deploy");
const read = (name: string): string => readFileSync(join(deploy, name), "utf8");
const has = (program: string): boolean => spawnSync(program, ["--version"]).error === undefined;
const folder = mkdtempSync(join(tmpdir(), "postern-deploy-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Service {
  readonly image: string;
  readonly privileged?: boolean;
  readonly profiles?: readonly string[];
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

describe("compose.yaml", () => {
  const compose = parse(read("compose.yaml")) as Compose; // its shape is what is checked
  const services = Object.entries(compose.services);

  it("gives no service rights over the machine, and opens only the proxy's ports", () => {
    for (const [name, service] of services) {
      expect(service.privileged, name).toBeUndefined();
      expect(service.security_opt, name).toContain("no-new-privileges:true");
      expect(JSON.stringify(service), name).not.toContain("docker.sock");
      expect(service.ports === undefined, name).toBe(name !== "caddy");
    }
  });

  it("names only secrets, volumes, files and services that are there", () => {
    for (const [name, { secrets = [], volumes = [], depends_on: needed = {} }] of services) {
      for (const secret of secrets) expect(Object.keys(compose.secrets), name).toContain(secret);
      for (const [source = ""] of volumes.map((volume) => volume.split(":")))
        if (source.startsWith("./")) expect(read(source.slice(2)), name).not.toBe("");
        else expect(Object.keys(compose.volumes), name).toContain(source);
      for (const other of Object.keys(needed)) expect(Object.keys(compose.services), name).toContain(other);
    }
  });

  it("starts Postern and its proxy alone, and the others by their profile", () => {
    const alone = services.filter(([, { profiles }]) => profiles === undefined).map(([name]) => name);
    expect(alone).toEqual(["postern", "caddy"]);
  });
});

it("the container's configuration is a valid one", async () => {
  const settings = await loadConfig({
    flags: { config: join(deploy, "postern.yaml") },
    environment: {},
    folder: deploy,
  });
  expect(settings.listen).toMatchObject({ host: "0.0.0.0", port: 7420, publicUrl: "https://postern.example.com" });
});

it("the image runs as another user than root, under tini, and is asked whether it is ready", () => {
  const lines = read("Dockerfile");
  expect(lines).toMatch(/^USER 10001$/m);
  expect(lines).toMatch(/^ENTRYPOINT \["\/usr\/bin\/tini"/m);
  expect(lines).toMatch(/^HEALTHCHECK [\s\S]*\/readyz/m);
});

describe("what other programs say", () => {
  beforeAll(() => {
    const names = [
      "-subj",
      "/CN=postern.example.com",
      "-keyout",
      join(folder, "key.pem"),
      "-out",
      join(folder, "certificate.pem"),
    ];
    spawnSync("openssl", ["req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", ...names]);
  });

  it.skipIf(!has("caddy"))("Caddy reads its file", () => {
    const words = ["validate", "--config", join(deploy, "Caddyfile"), "--adapter", "caddyfile"];
    const { status, stderr } = spawnSync("caddy", words, { encoding: "utf8", env: { ...process.env, HOME: folder } });
    expect({ status, stderr }).toMatchObject({ status: 0 });
  });

  it.skipIf(!has("nginx"))("nginx reads its file", () => {
    writeFileSync(join(folder, "site.conf"), read("nginx.conf").replaceAll("/etc/ssl/postern", folder));
    const file = join(folder, "nginx.conf");
    writeFileSync(
      file,
      `pid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp { access_log off; include ${folder}/site.conf; }\n`,
    );
    const { status, stderr } = spawnSync("nginx", ["-t", "-q", "-c", file], { encoding: "utf8" });
    expect({ status, stderr }).toMatchObject({ status: 0 });
  });

  it.skipIf(!has("systemd-analyze"))("systemd reads the unit", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", join(deploy, "postern.service")], {
      encoding: "utf8",
    });
    expect({ status, stderr }).toMatchObject({ status: 0 });
  });
});
