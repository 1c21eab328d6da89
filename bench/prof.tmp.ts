import { createRuntime, defineTool } from "../src/index.ts";
import { z } from "zod";
const add = defineTool({ name: "add", description: "Adds", risk: "safe", effects: "read", idempotent: true, input: z.object({a:z.number(),b:z.number()}), execute: async ({a,b}) => ({sum:a+b}) });
const runtime = await createRuntime({ tools: [add], autonomy: "A2", store: process.argv[2] ?? "sqlite::memory:", hooks: {toolStart(){},toolEnd(){}} });
let session = runtime.openSession();
const N = 30000;
for (let r=0;r<6;r++){ const t=performance.now(); for (let i=0;i<N;i++){ if(session.callCount>=10000) session=runtime.openSession(); await session.invoke({tool:"add",arguments:{a:i,b:1}});} console.log(((performance.now()-t)*1000/N).toFixed(2),"us seq");
 const t2=performance.now(); let n=0; await Promise.all(Array.from({length:32},async()=>{while(n<N){const i=n++; if(session.callCount>=9960) session=runtime.openSession(); await session.invoke({tool:"add",arguments:{a:i,b:1}});}})); console.log((N*1000/(performance.now()-t2)).toFixed(0),"/s 32"); }
await runtime.close();
