import { decisions } from "#bench/coordinator/decisions.ts"
import { schedule } from "#bench/coordinator/scheduler.ts"

for (const n of [10, 100, 200, ...(process.argv[2] ? [1000] : [])]) console.log(n, decisions(n), await schedule(n))
