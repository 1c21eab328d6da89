/** `chains.engine_settings` of a configuration file (snake_case): engines that run on other machines. Only chains-config.ts imports this. */
import { z } from "zod";

const matching = (pattern: RegExp, problem: string) => z.string().regex(pattern, problem);
const path = matching(/^\//, "Write an absolute path: it begins with `/`.");
const name = matching(
  /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/,
  "Use 1 to 63 of a-z 0-9 - .: it is a name in the cluster.",
);
const id = z.int().min(1).max(4_294_967_294);
const whole = (min: number, max: number, what: string) => z.int().min(min).max(max).exactOptional().describe(what);
const place = {
  start_ms: whole(1000, 600_000, "Time until one must be ready, in milliseconds."),
  warm: whole(0, 64, "The number kept ready from the first script on. Default 1."),
  most: whole(1, 1000, "The most at once."),
};

const kubernetes = z
  .strictObject({
    namespace: name.describe("A namespace in which only scripts run."),
    runtime_class: name.describe("A RuntimeClass with a kernel of its own: gVisor's or Kata's."),
    image: z.string().min(1).max(512).describe("An image with `python3` 3.11 or newer; pin it by digest."),
    kubeconfig: path.exactOptional().describe("Without it and without `server`: the cluster Postern runs in."),
    context: z.string().min(1).exactOptional().describe("Of the kubeconfig. Default: its `current-context`."),
    server: matching(/^https?:\/\//, "Write an `https://` address.").exactOptional(),
    token: matching(
      /^secret:\/\/[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/,
      "Write `secret://connector/key`, or use `token_file`.",
    ).exactOptional(),
    token_file: path.exactOptional().describe("Read again for every request."),
    authority: path.exactOptional().describe("The cluster's certificate authority."),
    longest_seconds: whole(60, 86_400, "The cluster ends a pod at this age. Default 3600."),
    installation: matching(
      /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
      "Use 1 to 63 of A-Z a-z 0-9 . _ -: it is a label.",
    )
      .exactOptional()
      .describe("A label of all pods of this installation."),
    cpus: z.number().min(0.1).max(64).exactOptional().describe("Processors of one script. Default 1."),
    ...place,
  })
  .refine(({ kubeconfig, server }) => kubeconfig === undefined || server === undefined, onlyOne("kubeconfig", "server"))
  .refine(
    ({ server, ...file }) => server !== undefined || (file.token ?? file.token_file ?? file.authority) === undefined,
    "`token`, `token_file` and `authority` belong to `server`; a kubeconfig has its own.",
  )
  .refine(({ token, token_file }) => token === undefined || token_file === undefined, onlyOne("token", "token_file"));

const guestImage = path.describe("The guest, made with its kernel by `sh deploy/guest/build.sh FOLDER`.");

const firecracker = z.strictObject({
  firecracker: path,
  jailer: path,
  kernel: path,
  image: guestImage,
  chroot_base: path.describe("The folder of the jails, on one file system with kernel and image."),
  uid: id.describe("The user that a machine runs as."),
  gid: id,
  cpus: whole(1, 32, "Processors of one machine. Default 1."),
  ...place,
});

const qemu = z.strictObject({
  kernel: path,
  image: guestImage,
  qemu: path.exactOptional().describe("Default `/usr/bin/qemu-system-x86_64`."),
  accelerator: z.enum(["kvm", "tcg"]).exactOptional().describe("Default `tcg`: in software. `kvm` needs `/dev/kvm`."),
  cpus: whole(1, 32, "Processors of one machine. Default 1."),
  ...place,
});

export const driversSchema = z.strictObject({
  kubernetes: kubernetes.exactOptional().describe("One pod a script, under a RuntimeClass with a kernel of its own."),
  firecracker: firecracker.exactOptional().describe("One machine a script, which Firecracker runs."),
  qemu: qemu.exactOptional().describe("One machine a script, which QEMU runs, in software if need be."),
});

function onlyOne(one: string, other: string): string {
  return `Give \`${one}\` or \`${other}\`, not both.`;
}
