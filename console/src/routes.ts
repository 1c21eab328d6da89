/** The screens, in the order of the navigation. router.tsx has what each of them is made of. */
import type { IconName } from "./kit/index.ts";

interface Screen {
  readonly label: string;
  readonly path: string;
  readonly icon: IconName;
}

/** The path and the icon are named as the label. */
function screen(label: Capitalize<IconName>): Screen {
  const name = label.toLowerCase() as IconName; // the type of the label holds only such
  return { label, path: `/${name}`, icon: name };
}

export const screens: readonly Screen[] = [
  { label: "Needs you", path: "/needs", icon: "needs" },
  screen("Approvals"),
  screen("Overview"),
  screen("Runs"),
  screen("Calls"),
  screen("Tools"),
  screen("Policy"),
  screen("Audit"),
];

/** Opened by links and from the top bar: they are not in the navigation. */
export const unlisted: readonly Screen[] = [
  screen("Alarms"),
  screen("Connections"),
  screen("People"),
  screen("Servers"),
];
