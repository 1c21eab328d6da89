/** `chains.engine_settings` of a configuration file (snake_case): engines that run elsewhere. Only chains-config.ts imports this. */
import { z } from "zod";
import type { SnakeCased } from "../core/case.ts";
import type { EngineSettings } from "./known-engines.ts";

/** Without what only code can give. */
export interface EngineSettingsData {
  readonly kubernetes?: Omit<NonNullable<EngineSettings["kubernetes"]>, "clock">;
  readonly firecracker?: Omit<NonNullable<EngineSettings["firecracker"]>, "clock" | "kvm">;
}

const path = z.string().regex(/^\//, "Write an absolute path: it begins with `/`.");
const name = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/, "Use 1 to 63 of a-z 0-9 - .: it is a name of the cluster's.");
const place = {
  cpus: z.number().min(0.1).max(64).exactOptional().describe("Processors of one script; 1."),
  start_ms: z.int().min(1000).max(600_000).exactOptional().describe("Until one must be ready, in milliseconds."),
  warm: z.int().min(0).max(64).exactOptional().describe("Kept ready from the first script on; 1."),
  most: z.int().min(1).max(1000).exactOptional().describe("At once."),
};

const kubernetes = z
  .strictObject({
    namespace: name.describe("Of its own: nothing but scripts runs in it."),
    runtime_class: name.describe("A RuntimeClass with a kernel of its own: gVisor's or Kata's."),
    image: z.string().min(1).max(512).describe("With `python3` 3.11 or newer in it; pin it by digest."),
    kubeconfig: path.exactOptional().describe("Without it and without `server`: the cluster Postern runs in."),
    context: z.string().min(1).exactOptional().describe("Of the kubeconfig; its `current-context`."),
    server: z
      .string()
      .regex(/^https?:\/\//, "Write an `https://` address.")
      .exactOptional(),
    token: z
      .string()
      .regex(/^secret:\/\/[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/, "Write `secret://connector/key`, or use `token_file`.")
      .exactOptional(),
    token_file: path.exactOptional().describe("Read again for every request."),
    authority: path.exactOptional().describe("The cluster's certificate authority."),
    longest_seconds: z
      .int()
      .min(60)
      .max(86_400)
      .exactOptional()
      .describe("The cluster ends a pod after so long; 3600."),
    installation: z
      .string()
      .regex(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/, "Use 1 to 63 of A-Z a-z 0-9 . _ -: it is a label.")
      .exactOptional()
      .describe("Tells this installation's pods from another's."),
    ...place,
  })
  .refine(
    (file) => file.kubeconfig === undefined || file.server === undefined,
    "Give `kubeconfig` or `server`, not both.",
  )
  .refine(
    (file) => file.server !== undefined || (file.token ?? file.token_file ?? file.authority) === undefined,
    "`token`, `token_file` and `authority` belong to `server`; a kubeconfig has its own.",
  )
  .refine(
    (file) => file.token === undefined || file.token_file === undefined,
    "Give `token` or `token_file`, not both.",
  );

const firecracker = z.strictObject({
  firecracker: path,
  jailer: path,
  kernel: path,
  rootfs: path.describe("An image whose init serves vsock port 5000: docs/reference/engines.md."),
  chroot_base: path.describe("Where jails are made; on one file system with kernel and root."),
  uid: z.int().min(1).max(4_294_967_294).describe("Whom a machine runs as."),
  gid: z.int().min(1).max(4_294_967_294),
  ...place,
  cpus: z.int().min(1).max(32).exactOptional().describe("Processors of one machine; 1."),
});

export const driversSchema: z.ZodType<SnakeCased<EngineSettingsData>> = z.strictObject({
  kubernetes: kubernetes.exactOptional().describe("A pod a script, under a RuntimeClass with a kernel of its own."),
  firecracker: firecracker.exactOptional().describe("A machine a script."),
});
