/** Real virtual machines, in software: QEMU boots the guest of `deploy/guest` with Debian's kernel. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { driven } from "../../../../core/src/testing/driven.ts";
import { QemuDriver, type QemuOptions } from "./driver.ts";

const script = join(import.meta.dirname, "../../../../../deploy/guest/build.sh");
/** Not in the folder for the temporary files of tests, where `nobody` may not look. */
const folder = mkdtempSync("/var/tmp/postern-guest-");
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true }));
const guest = { kernel: join(folder, "kernel"), image: join(folder, "guest.img") };
const limits = { cpuMs: 5_000, memoryBytes: 64 * 1024 * 1024, outputBytes: 100_000, wallMs: 120_000 };

const programs = ["qemu-system-x86_64", "mmdebstrap", "cpio", "lz4", "zstd", "setpriv"];
const folders = (process.env["PATH"] ?? "").split(delimiter);
const missing = programs.filter((name) => !folders.some((place) => existsSync(join(place, name))));
const canRun = missing.length === 0 && process.getuid?.() === 0;
if (!canRun)
  console.warn(
    `SKIPPED: virtual machines: they need root to build a guest, and ${missing.join(", ") || "nothing else"}.`,
  );

const open = (more: Partial<QemuOptions> = {}): QemuDriver =>
  new QemuDriver({ ...guest, warm: 0, startMs: 300_000, ...more });

/** The processes of QEMU that run this guest. */
function machines(): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(guest.image);
    } catch {
      return false; // it has ended
    }
  });
}

describe.skipIf(!canRun)("a virtual machine of QEMU", { timeout: 600_000 }, () => {
  beforeAll(() => {
    const { status, stderr } = spawnSync("sh", [script, folder], { encoding: "utf8" });
    if (status !== 0) throw new Error(`The guest could not be built: ${stderr}`);
  }, 600_000);

  it("runs a script with its calls, as nobody, under a kernel of its own, with no disk and no network", async () => {
    await using driver = open();
    const source = `import os
a = tools.echo(to="x")
b = tools.echo(to=a.text + "y")
net = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
disks = os.listdir("/sys/block")
[b.text, os.getuid(), "cloud" in open("/proc/sys/kernel/osrelease").read(), net, disks, sorted(os.listdir("/workspace"))]`;
    const end = await driven(driver, source, limits);
    expect(end).toMatchObject({ step: "done", value: ["xy", 65_534, true, ["lo"], [], []] });
    await driver[Symbol.asyncDispose]();
    expect(machines()).toEqual([]);
  });

  it("ends an endless script at its limit, and the machine with it", async () => {
    await using driver = open();
    expect(await driven(driver, "while True: pass", limits)).toMatchObject({ step: "failed", why: "cpu" });
    await expect.poll(machines).toEqual([]);
  });

  it("leaves no machine when it is closed while one starts", async () => {
    const driver = open();
    const starting = driven(driver, "1", limits).catch(String);
    await expect.poll(machines).toHaveLength(1);
    await driver[Symbol.asyncDispose]();
    expect(machines()).toEqual([]);
    expect(await starting).toMatch(/Error/);
  });

  it("runs QEMU as nobody and without any right, and ends it with its killed host", async () => {
    const source = `import { QemuDriver } from ${JSON.stringify(join(import.meta.dirname, "driver.ts"))};
      import { driven } from ${JSON.stringify(join(import.meta.dirname, "../../../../core/src/testing/driven.ts"))};
      await driven(new QemuDriver(${JSON.stringify({ ...guest, warm: 0 })}), "1", ${JSON.stringify(limits)});`;
    const words = ["--conditions=postern-source", "--input-type=module", "--eval", source];
    const host = spawn(process.execPath, words, { stdio: "inherit" });
    const rights = (): string =>
      machines()
        .map((pid) => readFileSync(`/proc/${pid}/status`, "utf8"))
        .join();
    await expect
      .poll(rights)
      .toMatch(/Uid:\t65534\t65534\t65534\t65534\n(?:.*\n)*CapBnd:\t0+\n(?:.*\n)*NoNewPrivs:\t1/);
    host.kill("SIGKILL");
    await once(host, "exit");
    await expect.poll(machines).toEqual([]);
  });

  it("says why a machine does not start", async () => {
    const kernel = join(folder, "no-kernel");
    writeFileSync(kernel, "this is none");
    await using driver = open({ kernel });
    await expect(driven(driver, "1", limits)).rejects.toThrow(/did not start.*qemu/s);
  });
});

it("names what is missing", async () => {
  await using driver = open({ image: "/no/such/guest.img", qemu: process.execPath, kernel: process.execPath });
  const first = existsSync("/usr/bin/setpriv") ? "/no/such/guest.img" : "/usr/bin/setpriv";
  expect(await driver.unavailable()).toBe(`\`${first}\` is not there`);
  await expect(driven(driver, "1", limits)).rejects.toThrow("QEMU cannot run here");
});
