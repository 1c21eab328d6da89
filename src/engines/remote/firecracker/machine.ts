/** What Firecracker and its jailer are told, and how a guest is reached: an API on a socket, one vsock port, and nothing else. */
import { request } from "node:http";
import { createConnection, type Socket } from "node:net";
import { basename, join } from "node:path";

export interface MachineSettings {
  /** Starts Firecracker as nobody in a root of its own. */
  readonly jailer: string;
  readonly firecracker: string;
  readonly kernel: string;
  /** Its init serves vsock port 5000 with `guestLoader`. */
  readonly rootfs: string;
  readonly chrootBase: string;
  readonly uid: number;
  readonly gid: number;
  readonly cpus: number;
  /** Of control groups: what this host has. */
  readonly groups: 1 | 2;
  /** Puts the jailer into a network namespace with nothing in it. */
  readonly unshare: string;
}

/** One machine. */
export interface MachineNeeds {
  readonly id: string;
  readonly memoryMebibytes: number;
}

/** Where the guest listens. */
export const guestPort = 5000;
export const parentGroup = "postern";
const mebibyte = 1024 * 1024;
/** Of the host's memory: Firecracker's own. */
const monitorMebibytes = 64;
const mostProcesses = 32;
const groupPeriodMicroseconds = 100_000;
const requestMs = 10_000;
const mostGreetingBytes = 64;

/** What the guest's init runs on its port, standard input and output being the connection: it reads a program, and is it. */
export const guestLoader: string = `python3 -I -S -B -X utf8 -c 'import os
def take(n):
    data = b""
    while len(data) < n:
        part = os.read(0, n - len(data))
        if not part:
            os._exit(0)
        data += part
    return data
exec(take(int.from_bytes(take(4), "big")).decode())'`;

/** The program as `guestLoader` takes it. */
export function loaded(program: string): Buffer {
  const bytes = Buffer.from(program);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

export function jailOf({ chrootBase, firecracker }: MachineSettings, id: string): string {
  return join(chrootBase, basename(firecracker), id);
}

/**
 * In an empty network namespace; no more files, processes, memory and processors than the machine needs.
 *
 * Why without `--new-pid-ns`: the jailer then becomes Firecracker under its own number, so that what we started is what we
 * kill.
 */
export function jailCommand(settings: MachineSettings, { id, memoryMebibytes }: MachineNeeds): readonly string[] {
  const { firecracker, jailer, uid, gid, chrootBase, groups, cpus } = settings;
  const memory = (memoryMebibytes + monitorMebibytes) * mebibyte;
  const quota = cpus * groupPeriodMicroseconds;
  const bounds =
    groups === 2
      ? [`memory.max=${memory}`, `pids.max=${mostProcesses}`, `cpu.max=${quota} ${groupPeriodMicroseconds}`]
      : [`memory.limit_in_bytes=${memory}`, `pids.max=${mostProcesses}`, `cpu.cfs_quota_us=${quota}`];
  return [
    ...["--net", "--", jailer],
    ...["--id", id, "--exec-file", firecracker, "--uid", String(uid), "--gid", String(gid)],
    ...["--chroot-base-dir", chrootBase, "--resource-limit", "no-file=256"],
    ...["--cgroup-version", String(groups), "--parent-cgroup", parentGroup],
    ...bounds.flatMap((bound) => ["--cgroup", bound]),
    ...["--", "--api-sock", "/api.socket"],
  ];
}

/** A machine without a network card: the guest's only way out is the vsock that we hold the other end of. */
export async function configure(apiSocket: string, cpus: number, memoryMebibytes: number): Promise<void> {
  const put = (path: string, body: object): Promise<void> => putJson(apiSocket, path, body);
  await put("/machine-config", { vcpu_count: cpus, mem_size_mib: memoryMebibytes, smt: false });
  await put("/boot-source", {
    kernel_image_path: "/kernel",
    boot_args: "console=off reboot=k panic=1 pci=off nomodule random.trust_cpu=on quiet",
  });
  await put("/drives/rootfs", {
    drive_id: "rootfs",
    path_on_host: "/rootfs",
    is_root_device: true,
    is_read_only: true,
  });
  await put("/vsock", { guest_cid: 3, uds_path: "/vsock.socket" });
  await put("/actions", { action_type: "InstanceStart" });
}

function putJson(socketPath: string, path: string, body: object): Promise<void> {
  const text = JSON.stringify(body);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const asked = request({ socketPath, path, method: "PUT", headers }, (answer) => {
    let said = "";
    answer.on("data", (chunk: Buffer) => {
      if (said.length < 500) said += chunk.toString();
    });
    answer.on("error", reject);
    answer.on("end", () => {
      const { statusCode = 0 } = answer;
      if (statusCode >= 200 && statusCode < 300) resolve();
      else reject(new Error(`Firecracker refused ${path} (${statusCode}): ${said.slice(0, 300)}`));
    });
  });
  const late = setTimeout(() => asked.destroy(new Error(`Firecracker did not answer ${path}.`)), requestMs);
  asked.on("error", reject);
  asked.on("close", () => clearTimeout(late));
  asked.end(text);
  return promise;
}

/**
 * Firecracker's handshake: a line that names the port, a line that says it is open; what comes after is the guest's.
 *
 * @throws Error where nobody listens yet, or nothing is said within `withinMs`
 */
export function connectGuest(
  vsockSocket: string,
  withinMs: number,
): Promise<{ readonly socket: Socket; readonly early: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly socket: Socket; readonly early: Buffer }>();
  const socket = createConnection(vsockSocket);
  let heard = Buffer.alloc(0);
  const late = setTimeout(() => fail("The guest does not answer."), withinMs);
  const fail = (why: string): void => {
    clearTimeout(late);
    socket.destroy();
    reject(new Error(why));
  };
  const closed = (): void => fail("The guest does not listen on its port.");
  const listen = (chunk: Buffer): void => {
    heard = Buffer.concat([heard, chunk]);
    const end = heard.indexOf("\n");
    if (end < 0 && heard.length < mostGreetingBytes) return;
    if (!/^OK \d+$/.test(heard.subarray(0, Math.max(0, end)).toString("latin1"))) {
      fail("The guest's greeting is none of Firecracker's.");
      return;
    }
    clearTimeout(late);
    socket.off("data", listen).off("close", closed).pause();
    resolve({ socket, early: heard.subarray(end + 1) });
  };
  socket.on("data", listen).on("close", closed);
  socket.on("error", () => undefined); // its end is told by "close"
  socket.write(`CONNECT ${guestPort}\n`);
  return promise;
}
