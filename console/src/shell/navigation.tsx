import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { classNames, Icon, number } from "../kit/index.ts";
import { screens } from "../routes.ts";
import { useNeeds } from "../screens/needs/use-needs.ts";

/** At the side on a wide screen, at the bottom on a phone. */
export function Navigation(): ReactNode {
  const forYou = useNeeds().data?.for_you ?? 0;
  return (
    <nav
      aria-label="Screens"
      className="order-last border-line bg-surface max-lg:border-t max-lg:pb-[env(safe-area-inset-bottom)] lg:order-none lg:w-52 lg:shrink-0 lg:border-r"
    >
      <div className="hidden h-12 items-center gap-2 px-4 lg:flex">
        <img src="/postern.svg" alt="" width={22} height={22} />
        <span className="text-[1.0714rem] font-semibold tracking-tight">Postern</span>
      </div>
      <ul className="flex justify-around lg:grid lg:justify-stretch lg:gap-0.5 lg:px-2 lg:py-2">
        {screens.map(({ path, label, icon }) => (
          <li key={path} className="max-lg:flex-auto">
            <Link
              to={path}
              activeProps={{ "aria-current": "page" }}
              className={classNames(
                "group relative flex items-center text-ink-2 aria-[current=page]:text-accent",
                "max-lg:flex-col max-lg:gap-0.5 max-lg:px-0.5 max-lg:pt-2 max-lg:pb-1.5 max-lg:text-[0.7857rem] whitespace-nowrap",
                "lg:h-8 lg:gap-2.5 lg:rounded-md lg:px-2 lg:hover:bg-hover lg:aria-[current=page]:bg-accent-tint lg:aria-[current=page]:font-medium",
              )}
            >
              <Icon name={icon} size={17} />
              {label}
              {path === "/needs" && forYou > 0 && (
                <span className="tabular rounded-full bg-accent px-1.5 text-[0.7857rem] leading-[1.15rem] font-semibold text-on-accent max-lg:absolute max-lg:top-1 max-lg:left-[calc(50%+4px)] lg:ml-auto">
                  {number(forYou)}
                  <span className="sr-only"> for you</span>
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
