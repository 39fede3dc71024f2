/** Checkouts over the ends of services, by overlays and without. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Duration, Effect, Option } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { type CheckoutFailed, Checkouts } from "#core/ports/checkouts.ts"
import { canOverlay } from "#runtime/git/overlay.ts"
import { checkoutsIn, makeFolder, makeRepository, plainCheckoutsIn } from "#runtime/git/repository-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)
const author = { name: "Ada", email: "ada@example.org" }
const overlays = await Effect.runPromise(canOverlay(join(folder.path, "probe")))

const ways = [
  { kind: "shared-clone", layer: plainCheckoutsIn },
  ...(overlays ? [{ kind: "overlay", layer: checkoutsIn }] : []),
]

const mountsBelow = (path: string): number =>
  existsSync("/proc/self/mountinfo")
    ? readFileSync("/proc/self/mountinfo", "utf8")
        .split("\n")
        .filter((line) => line.includes(` ${path}/`)).length
    : 0

describe.each(ways)("checkouts by $kind", ({ kind, layer }) => {
  const data = join(folder.path, kind)
  /** One life of a service. */
  const life = <A>(work: (checkouts: Checkouts["Service"]) => Effect.Effect<A, CheckoutFailed>): Promise<A> =>
    Effect.runPromise(Effect.flatMap(Checkouts, work).pipe(Effect.provide(layer(data))))

  it("are found by the next service, with what was committed and what was not", async () => {
    const user = makeRepository(join(folder.path, `${kind}-repository`), { "a.txt": "a\n", "gone.txt": "gone\n" })
    const place = { runId: "run-1", repository: user.path }
    const [before, committed] = await life(
      Effect.fnUntraced(function* (checkouts) {
        const checkout = yield* checkouts.prepare({ ...place, base: "main" })
        execFileSync("sh", ["-c", "echo b > a.txt; rm gone.txt; mkdir sub; echo c > sub/c.txt"], { cwd: checkout.path })
        const committed = yield* checkouts.commit(checkout, "work", author)
        execFileSync("sh", ["-c", "echo d > d.txt; mv sub renamed"], { cwd: checkout.path })
        return [checkout, committed] as const
      }),
    )
    expect(before.kind).toBe(kind)
    expect(mountsBelow(data)).toBe(0)
    const changes = await life(
      Effect.fnUntraced(function* (checkouts) {
        const checkout = yield* checkouts.open(place)
        expect(checkout).toEqual(before)
        expect(mountsBelow(data)).toBe(kind === "overlay" ? 1 : 0)
        expect(readFileSync(join(checkout.path, "a.txt"), "utf8")).toBe("b\n")
        expect(yield* checkouts.commit(checkout, "more", author)).not.toEqual(committed)
        return (yield* checkouts.files(checkout, "all")).map(({ path, status }) => `${status} ${path}`)
      }),
    )
    expect(changes).toEqual(["modified a.txt", "added d.txt", "deleted gone.txt", "added renamed/c.txt"])
    await life((checkouts) => checkouts.remove(place, { branch: true }))
    expect(mountsBelow(data)).toBe(0)
  })

  it("are begun again where the first attempt did not come to its end", async () => {
    const user = makeRepository(join(folder.path, `${kind}-partial`))
    const place = { runId: "run-2", repository: user.path }
    await life(
      Effect.fnUntraced(function* (checkouts) {
        const checkout = yield* checkouts.prepare({ ...place, base: "main" })
        // as if the service had ended just before the last step
        execFileSync("rm", [join(checkout.path, "../run.json")])
        writeFileSync(join(checkout.path, "half.txt"), "")
        const again = yield* checkouts.prepare({ ...place, base: "main" })
        expect(existsSync(join(again.path, "half.txt"))).toBe(false)
        expect((yield* checkouts.snapshot(again)).hasChanges).toBe(false)
      }),
    )
  })

  it("leave nothing behind of what was not completed", async () => {
    const user = makeRepository(join(folder.path, `${kind}-stale`))
    const runs = await life(
      Effect.fnUntraced(function* (checkouts) {
        const checkout = yield* checkouts.prepare({ runId: "run-3", repository: user.path, base: "main" })
        return join(checkout.path, "../..")
      }),
    )
    mkdirSync(join(runs, ".gone-x/tree"), { recursive: true })
    mkdirSync(join(runs, "run-4/tree"), { recursive: true })
    mkdirSync(join(runs, "run-5/tree"), { recursive: true })
    if (kind === "overlay") execFileSync("mount", ["-t", "tmpfs", "none", join(runs, "run-4/tree")])
    for (const name of [".gone-x", "run-4"]) utimesSync(join(runs, name), 1, 1)
    await life(() =>
      Effect.promise(async () => {
        await expect.poll(() => readdirSync(runs).sort(), { timeout: 10_000 }).toEqual(["run-3", "run-5"])
      }),
    )
  })

  it("leave nothing mounted when they are interrupted at any moment", async () => {
    const user = makeRepository(join(folder.path, `${kind}-interrupted`))
    const made = await life(({ prepare }) =>
      Effect.forEach(
        Array.from({ length: 30 }, (_, n) => n),
        (n) =>
          Effect.timeoutOption(
            prepare({ runId: `run-6-${n}`, repository: user.path, base: "main" }),
            Duration.millis(n * 8),
          ),
        { concurrency: 6 },
      ),
    )
    // not every one is as far as its mount
    expect(made.some(Option.isNone)).toBe(true)
    expect(mountsBelow(data)).toBe(0)
  })
})
