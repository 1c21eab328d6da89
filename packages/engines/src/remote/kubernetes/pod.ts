/** The manifest of a pod: one for each script, with a kernel of its own and without a network. */
import { createHash } from "node:crypto";
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import { isAlive } from "@postern/core/system";
import { pythonEnvironment, pythonFlags } from "../../cpython/prelude/prelude.ts";

export interface PodSettings {
  readonly namespace: string;
  /** A RuntimeClass of gVisor or Kata. */
  readonly runtimeClass: string;
  /** With `python3`; pinned by digest. */
  readonly image: string;
  readonly cpus: number;
  readonly longestSeconds: number;
  /** The Postern that a pod belongs to. */
  readonly installation: string;
  /** This process: pods of earlier processes have another value. */
  readonly incarnation: string;
}

export const container = "script";
export const labels = {
  script: "postern.dev/script",
  installation: "postern.dev/installation",
  incarnation: "postern.dev/incarnation",
  host: "postern.dev/host",
  process: "postern.dev/process",
} as const;
const nobodyId = 65_534;
/** Folders that a script may write to; they are kept in memory. */
const folders = ["tmp", "workspace"];
const folderMebibytes = 16;

export function podsOf(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}

/** This host and PID namespace: process numbers are comparable only within it. */
export const here: string = createHash("sha256").update(`${hostname()} ${numbering()}`).digest("hex").slice(0, 16);

export function labelsOf({ installation, incarnation }: PodSettings): Readonly<Record<string, string>> {
  return {
    [labels.script]: "true",
    [labels.installation]: installation,
    [labels.incarnation]: incarnation,
    [labels.host]: here,
    [labels.process]: String(process.pid),
  };
}

export interface PodNeeds {
  readonly name: string;
  readonly program: string;
  readonly memoryMebibytes: number;
}

export function podManifest(settings: PodSettings, needs: PodNeeds): object {
  const { namespace, runtimeClass, longestSeconds } = settings;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: needs.name, namespace, labels: labelsOf(settings) },
    spec: {
      runtimeClassName: runtimeClass,
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      activeDeadlineSeconds: longestSeconds,
      terminationGracePeriodSeconds: 0,
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["127.0.0.1"] },
      securityContext: {
        runAsNonRoot: true,
        runAsUser: nobodyId,
        runAsGroup: nobodyId,
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [containerOf(settings, needs)],
      volumes: folders.map((folder) => ({
        name: folder,
        emptyDir: { medium: "Memory", sizeLimit: `${folderMebibytes}Mi` },
      })),
    },
  };
}

function containerOf({ image, cpus }: PodSettings, { program, memoryMebibytes }: PodNeeds): object {
  const memory = `${memoryMebibytes + folders.length * folderMebibytes}Mi`;
  const amounts = { memory, cpu: String(cpus), "ephemeral-storage": "64Mi" };
  return {
    name: container,
    image,
    command: ["python3", ...pythonFlags, "-c", program],
    env: Object.entries(pythonEnvironment).map(([name, value]) => ({ name, value })),
    stdin: true,
    stdinOnce: true, // closed when the host is gone, which ends the script
    workingDir: "/workspace",
    resources: { limits: amounts, requests: amounts },
    securityContext: {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: folders.map((folder) => ({ name: folder, mountPath: `/${folder}` })),
  };
}

/**
 * Finds changes that the cluster made: admission hooks can add containers, tokens and networks.
 *
 * @returns why such a pod is not used
 */
export function changedIn(pod: JsonObject, { runtimeClass }: PodSettings): string | undefined {
  const spec = objectIn(pod, "spec");
  const containers = listIn(spec, "containers");
  const added = [...listIn(spec, "initContainers"), ...listIn(spec, "ephemeralContainers")];
  const volumes = listIn(spec, "volumes").filter((volume) => !isJsonObject(volume) || volume["emptyDir"] === undefined);
  if (spec["runtimeClassName"] !== runtimeClass) return "it runs under another RuntimeClass";
  if (spec["automountServiceAccountToken"] !== false || volumes.length > 0)
    return "it was given a volume of the cluster";
  if (containers.length !== 1 || added.length > 0) return "it was given another container";
  for (const shared of ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"])
    if (spec[shared] === true) return `it has \`${shared}\``;
  const [only] = containers;
  const context = isJsonObject(only) ? objectIn(only, "securityContext") : {};
  const isOpen = context["privileged"] === true || context["readOnlyRootFilesystem"] !== true;
  return isOpen ? "its security context was changed" : undefined;
}

/** Reasons for which waiting does not help. */
const hopeless: ReadonlySet<string> = new Set([
  ...["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"],
  ...["CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"],
]);

/** Whether a pod runs, why it never will, or what it waits for. */
export function stateOf(pod: JsonObject): { readonly runs: boolean; readonly never?: string; readonly waits?: string } {
  const status = objectIn(pod, "status");
  const { phase, reason } = status;
  if (phase === "Failed" || phase === "Succeeded")
    return { runs: false, never: `It ended (${typeof reason === "string" ? reason : phase}).` };
  const [first] = listIn(status, "containerStatuses");
  const state = isJsonObject(first) ? objectIn(first, "state") : {};
  const waiting = objectIn(state, "waiting")["reason"];
  if (typeof waiting === "string" && hopeless.has(waiting))
    return { runs: false, never: `It cannot start (${waiting}).` };
  if (phase === "Running") return { runs: true };
  return { runs: false, waits: typeof waiting === "string" ? waiting : "Pending" };
}

/** Whether a pod is unused: it has ended, or its process on this host is gone. */
export function isOrphan(pod: Json, { installation, incarnation }: PodSettings): boolean {
  if (!isJsonObject(pod)) return false;
  const found = objectIn(objectIn(pod, "metadata"), "labels");
  if (found[labels.installation] !== installation || found[labels.incarnation] === incarnation) return false;
  const { phase } = objectIn(pod, "status");
  if (phase === "Failed" || phase === "Succeeded") return true;
  if (found[labels.host] !== here) return false; // on another host; its deadline ends it
  const maker = Number(found[labels.process]);
  if (!Number.isSafeInteger(maker) || maker < 1) return false; // unknown; its deadline ends it
  return maker === process.pid || !isAlive(maker);
}

export function objectIn(value: JsonObject, name: string): JsonObject {
  const inner = value[name];
  return isJsonObject(inner) ? inner : {};
}

export function listIn(value: JsonObject, name: string): readonly Json[] {
  const inner: Json | undefined = value[name];
  return Array.isArray(inner) ? inner : [];
}

function numbering(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return ""; // another system: the host's name alone
  }
}
