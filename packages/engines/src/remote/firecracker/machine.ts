/** The settings of Firecracker and its jailer, and the two ways to reach a machine: an API on a socket, and one vsock port. */
import { createConnection, type Socket } from "node:net";
import { basename, join } from "node:path";
import { Agent, request } from "undici";

export interface MachineSettings {
  /** Starts Firecracker without rights in a root of its own. */
  readonly jailer: string;
  readonly firecracker: string;
  readonly kernel: string;
  /** An initramfs. Its init serves vsock port 5000 with `guestLoader`. */
  readonly image: string;
  readonly chrootBase: string;
  readonly uid: number;
  readonly gid: number;
  readonly cpus: number;
  /** The version of control groups on this host. */
  readonly groups: 1 | 2;
  /** Puts the jailer into a network namespace with nothing in it. */
  readonly unshare: string;
}

interface MachineNeeds {
  readonly id: string;
  readonly memoryMebibytes: number;
}

const guestPort = 5000;
export const parentGroup = "postern";
const mebibyte = 1024 * 1024;
/** Firecracker's own memory on the host. */
const monitorMebibytes = 64;
const mostProcesses = 32;
const groupPeriodMicroseconds = 100_000;
const requestMs = 10_000;
const mostGreetingBytes = 64;

export function jailOf({ chrootBase, firecracker }: MachineSettings, id: string): string {
  return join(chrootBase, basename(firecracker), id);
}

/**
 * Starts the jailer in an empty network namespace, with no more files, processes, memory and processors than the
 * machine needs.
 * Without `--new-pid-ns` the jailer becomes Firecracker under its own process number, so killing the started process
 * kills Firecracker.
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

/** Starts a machine without a network card: the guest's only connection is the vsock, whose other end the host holds. */
export async function configure(socketPath: string, cpus: number, memoryMebibytes: number): Promise<void> {
  const boot = "console=off reboot=k panic=1 pci=off random.trust_cpu=on quiet";
  const agent = new Agent({ connect: { socketPath } });
  try {
    await putJson(agent, "/machine-config", { vcpu_count: cpus, mem_size_mib: memoryMebibytes, smt: false });
    await putJson(agent, "/boot-source", { kernel_image_path: "/kernel", initrd_path: "/image", boot_args: boot });
    await putJson(agent, "/vsock", { guest_cid: 3, uds_path: "/vsock.socket" });
    await putJson(agent, "/actions", { action_type: "InstanceStart" });
  } finally {
    await agent.destroy();
  }
}

async function putJson(dispatcher: Agent, path: string, body: object): Promise<void> {
  const { statusCode, body: answer } = await request(`http://firecracker${path}`, {
    ...{ method: "PUT", dispatcher, signal: AbortSignal.timeout(requestMs) },
    ...{ headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
  });
  const text = await answer.text();
  if (statusCode >= 200 && statusCode < 300) return;
  throw new Error(`Firecracker refused ${path} (${statusCode}): ${text.slice(0, 300)}`);
}

/**
 * Firecracker's handshake: a line that names the port, and a line that says it is open. All that follows comes from the guest.
 *
 * @throws Error when the guest does not listen yet, or does not answer within `withinMs`
 */
export function connectGuest(
  vsockSocket: string,
  withinMs: number,
): Promise<{ readonly socket: Socket; readonly early: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly socket: Socket; readonly early: Buffer }>();
  const socket = createConnection(vsockSocket);
  let greeting = Buffer.alloc(0);
  const late = setTimeout(() => fail("The guest does not answer."), withinMs);
  const fail = (why: string): void => {
    clearTimeout(late);
    socket.destroy();
    reject(new Error(why));
  };
  const closed = (): void => fail("The guest does not listen on its port.");
  const listen = (chunk: Buffer): void => {
    greeting = Buffer.concat([greeting, chunk]);
    const end = greeting.indexOf("\n");
    if (end < 0 && greeting.length < mostGreetingBytes) return;
    if (!/^OK \d+$/.test(greeting.subarray(0, Math.max(0, end)).toString("latin1"))) {
      fail("The guest's greeting is not Firecracker's.");
      return;
    }
    clearTimeout(late);
    socket.off("data", listen).off("close", closed).pause();
    resolve({ socket, early: greeting.subarray(end + 1) });
  };
  socket.on("data", listen).on("close", closed);
  socket.on("error", () => undefined); // "close" reports the end
  socket.write(`CONNECT ${guestPort}\n`);
  return promise;
}
