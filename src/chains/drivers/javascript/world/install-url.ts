import { give } from "./give.ts";
import { Query } from "./query.ts";
import { WebUrl } from "./url.ts";

give("URL", WebUrl);
give("URLSearchParams", Query);
