import { afterAll } from "vitest";
import { removeOwnFolders } from "../fakes/own-folder.ts";

afterAll(removeOwnFolders);
