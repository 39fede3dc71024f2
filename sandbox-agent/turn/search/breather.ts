/** Long work in the process of the service, in short pieces. */
import { setImmediate as nextTurn } from "node:timers/promises"

/** Milliseconds. */
const atOnce = 20

/** What it gives is called often: it lets others have their turn where the last one is a while ago. */
export const makeBreather = (): (() => Promise<void>) => {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < atOnce) return
    await nextTurn()
    since = performance.now()
  }
}
