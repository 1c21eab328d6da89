import { Decoder, Encoder, ScriptBuffer } from "./bytes.ts";
import { give } from "./give.ts";

give("TextEncoder", Encoder);
give("TextDecoder", Decoder);
give("Buffer", ScriptBuffer);
