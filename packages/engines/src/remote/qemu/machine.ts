/** The command line of one virtual machine: no network, no disk, and one serial port, which is QEMU's standard input and output. */
import { statSync } from "node:fs";

export interface QemuSettings {
  readonly qemu: string;
  readonly kernel: string;
  /** The guest: its init opens the port `postern` and runs the loader behind it (deploy/guest). */
  readonly image: string;
  /** `tcg`: in software, on every machine. `kvm`: by the processor. */
  readonly accelerator: "kvm" | "tcg";
  readonly cpus: number;
}

export const kvm = "/dev/kvm";
export const setpriv = "/usr/bin/setpriv";
const nobody = "65534";
/** The kernel says nothing, and ends the machine where it would stop. */
const kernelWords = "quiet console=off panic=-1 random.trust_cpu=on";

/**
 * `setpriv` takes all rights before QEMU starts, and lets it end with this process. Root becomes `nobody`, with the group
 * of `/dev/kvm` if it needs that.
 */
export function qemuCommand(
  settings: QemuSettings,
  { memoryMebibytes, isRoot }: { readonly memoryMebibytes: number; readonly isRoot: boolean },
): readonly [program: string, ...words: string[]] {
  const { qemu, accelerator } = settings;
  const groups = accelerator === "kvm" ? ["--groups", String(statSync(kvm).gid)] : ["--clear-groups"];
  const user = ["--reuid", nobody, "--regid", nobody, ...groups, "--inh-caps=-all", "--bounding-set=-all"];
  const words = qemuWords(settings, memoryMebibytes);
  return [setpriv, ...(isRoot ? user : []), "--no-new-privs", "--pdeathsig", "KILL", "--", qemu, ...words];
}

function qemuWords({ kernel, image, accelerator, cpus }: QemuSettings, memoryMebibytes: number): readonly string[] {
  const isSoftware = accelerator === "tcg";
  return [
    ...["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none", "-monitor", "none"],
    ...["-machine", `pc,accel=${accelerator},usb=off,vmport=off`, "-cpu", isSoftware ? "max" : "host"],
    ...["-smp", String(cpus), "-m", String(memoryMebibytes)],
    ...["-kernel", kernel, "-initrd", image],
    ...["-append", isSoftware ? `${kernelWords} tsc=reliable` : kernelWords],
    ...["-device", "virtio-serial-pci,max_ports=2", "-chardev", "stdio,id=agent,signal=off"],
    ...["-device", "virtserialport,chardev=agent,name=postern"],
    ...["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"],
  ];
}
