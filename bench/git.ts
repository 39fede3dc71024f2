/**
 * 50 checkouts of one repository, made at the same time, then 50 branches merged onto one, beside, in the same
 * run and on the same repository:
 *  (a) `git worktree add`, one after another: at the same time they fail, as one reads what another writes;
 *  (b) `git merge --no-ff` of the same branches, one after another, in a working tree that is there already.
 * The disk is what `du` counts: of the data folder without what is only mounted, and of the working trees.
 */
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Duration, Effect } from "effect"
import { type BenchOptions, median, type Report, round } from "#bench/report.ts"
import { Checkouts } from "#core/ports/checkouts.ts"
import { checkoutsIn } from "#runtime/git/repository-of-test.ts"

const run = promisify(execFile)
const count = 50
const filesPerFolder = 100
const author = { name: "Bench", email: "bench@example.org" }

const git = async (folder: string, ...args: ReadonlyArray<string>): Promise<string> => {
  const identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]
  const { stdout } = await run("git", [...identity, "-C", folder, ...args], {
    env: { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" },
    maxBuffer: 268_435_456,
  })
  return stdout.trim()
}

/** Bytes on the disk, without other file systems below. */
const diskOf = async (folder: string): Promise<number> => {
  const { stdout } = await run("du", ["-s", "-x", "--block-size=1", folder], { maxBuffer: 1_048_576 })
  return Number(stdout.split("\t")[0])
}

/** By a program: half a million files are too many for this process. */
const removeAll = (folder: string): Promise<unknown> => run("rm", ["-rf", "--", folder])

/** A packed repository on `main`. */
const makeRepository = async (path: string, files: number): Promise<void> => {
  await mkdir(path)
  await git(path, "init", "--quiet", "--initial-branch=main")
  for (let folder = 0; folder < files / filesPerFolder; folder++) {
    await mkdir(join(path, `folder-${folder}`))
    for (let file = 0; file < filesPerFolder; file++) {
      const text = Array.from({ length: 20 }, (_, line) => `line ${line} of file ${file} in folder ${folder}\n`)
      await writeFile(join(path, `folder-${folder}`, `file-${file}.txt`), text.join(""))
    }
  }
  await git(path, "add", "-A")
  await git(path, "commit", "--quiet", "-m", "first")
  await git(path, "repack", "-adq")
}

/** Branches off `main`; each changes a file of its own, one that others change elsewhere, and adds one. */
const makeBranches = async (path: string, folder: string): Promise<ReadonlyArray<string>> => {
  const tree = join(folder, "branches")
  await git(path, "worktree", "add", "--quiet", "--detach", tree, "main")
  const commits: Array<string> = []
  for (let branch = 0; branch < count; branch++) {
    await git(tree, "checkout", "--quiet", "--detach", "main")
    await writeFile(join(tree, "folder-0", `file-${branch}.txt`), `changed by ${branch}\n`)
    await writeFile(join(tree, `new-${branch}.txt`), `added by ${branch}\n`)
    await git(tree, "add", "-A")
    await git(tree, "commit", "--quiet", "-m", `branch ${branch}`)
    commits.push(await git(tree, "rev-parse", "HEAD"))
  }
  await git(path, "worktree", "remove", "--force", tree)
  return commits
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begin = performance.now()
  await work()
  return performance.now() - begin
}

interface Measured {
  readonly milliseconds: number
  readonly bytes: number
}

export const bench = async ({ quick }: BenchOptions): Promise<Report> => {
  const files = quick ? 2_000 : 10_000
  const repetitions = quick ? 1 : 3
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-git-"))
  try {
    const repository = join(folder, "repository")
    await makeRepository(repository, files)
    const commits = await makeBranches(repository, folder)
    let round = 0
    let kind = ""
    let firstLook = Number.NaN

    const ours = async (): Promise<Measured> => {
      const data = join(folder, `data-${++round}`)
      const places = Array.from({ length: count }, (_, at) => ({ runId: `run-${round}-${at}`, repository }))
      const life = Effect.gen(function* () {
        const checkouts = yield* Checkouts
        const each = <A, E>(work: (place: (typeof places)[number]) => Effect.Effect<A, E>) =>
          Effect.forEach(places, work, { concurrency: "unbounded" })
        const prepare = each((place) => checkouts.prepare({ ...place, base: "main" }))
        const [elapsed, made] = yield* Effect.timed(prepare)
        kind = made[0]?.kind ?? ""
        const bytes = yield* Effect.promise(() => diskOf(data))
        const [first] = made
        if (first !== undefined) firstLook = Duration.toMillis((yield* Effect.timed(checkouts.snapshot(first)))[0])
        yield* each((place) => checkouts.remove(place, { branch: true }))
        return { milliseconds: Duration.toMillis(elapsed), bytes }
      })
      const measured = await Effect.runPromise(life.pipe(Effect.provide(checkoutsIn(data))))
      await removeAll(data)
      return measured
    }

    const worktrees = async (): Promise<Measured> => {
      const trees = join(folder, `trees-${++round}`)
      await mkdir(trees)
      const add = (at: number) =>
        git(repository, "worktree", "add", "--quiet", "-b", `peer-${round}-${at}`, join(trees, `${at}`), "main")
      const milliseconds = await timed(async () => {
        for (let at = 0; at < count; at++) await add(at)
      })
      const bytes = await diskOf(trees)
      await removeAll(trees)
      await git(repository, "worktree", "prune")
      return { milliseconds, bytes }
    }

    const integrate = (): Promise<Measured> => {
      const data = join(folder, `data-${++round}`)
      const life = Effect.gen(function* () {
        const checkouts = yield* Checkouts
        const branch = `svc/integration/${round}`
        const merges = commits.map((commit, at) => ({ commit, message: `Merge branch ${at}` }))
        const spec = { repository, base: "main", branch, expected: null, commits: merges, author }
        const [elapsed, result] = yield* Effect.timed(checkouts.integrate(spec))
        if (result._tag !== "Integrated") throw new Error("the branches do not merge")
        return { milliseconds: Duration.toMillis(elapsed), bytes: 0 }
      })
      return Effect.runPromise(life.pipe(Effect.provide(checkoutsIn(data))))
    }

    const merge = async (): Promise<Measured> => {
      const tree = join(folder, `merge-${++round}`)
      await git(repository, "worktree", "add", "--quiet", "--detach", tree, "main")
      const milliseconds = await timed(async () => {
        for (const commit of commits) await git(tree, "merge", "--quiet", "--no-ff", "-m", "Merge", commit)
      })
      await git(repository, "worktree", "remove", "--force", tree)
      return { milliseconds, bytes: 0 }
    }

    const ways = { ours, worktrees, integrate, merge }
    const results: Record<keyof typeof ways, Array<Measured>> = { ours: [], worktrees: [], integrate: [], merge: [] }
    for (let repetition = 0; repetition < repetitions; repetition++) {
      // half a million files take minutes to write: once is enough
      const checkouts = repetition === 0 ? (["ours", "worktrees"] as const) : []
      const order = [...checkouts, "integrate", "merge"] as const
      for (const name of repetition % 2 === 0 ? order : order.toReversed()) results[name].push(await ways[name]())
    }
    const time = (name: keyof typeof ways) => median(results[name].map(({ milliseconds }) => milliseconds))
    const disk = (name: keyof typeof ways) => median(results[name].map(({ bytes }) => bytes))
    return reportOf({ files, repetitions, kind, firstLook, time, disk })
  } finally {
    await removeAll(folder)
  }
}

const reportOf = (measured: {
  readonly files: number
  readonly repetitions: number
  readonly kind: string
  readonly firstLook: number
  readonly time: (name: "ours" | "worktrees" | "integrate" | "merge") => number
  readonly disk: (name: "ours" | "worktrees") => number
}): Report => {
  const { files, repetitions, kind, firstLook, time, disk } = measured
  const mebibytes = (bytes: number) => round(bytes / 1_048_576, 1)
  return {
    title: `${count} checkouts of ${files} files, ${count} merges (${repetitions} × the merges, medians; checkouts by ${kind})`,
    columns: ["", "svc ms", "git ms", "ratio", "svc MiB", "git MiB"],
    rows: [
      [
        "checkouts",
        Math.round(time("ours")),
        Math.round(time("worktrees")),
        round(time("ours") / time("worktrees"), 3),
        mebibytes(disk("ours")),
        mebibytes(disk("worktrees")),
      ],
      [
        "merges",
        Math.round(time("integrate")),
        Math.round(time("merge")),
        round(time("integrate") / time("merge"), 3),
        "",
        "",
      ],
    ],
    notes: [`The first look at what changed in a checkout: ${Math.round(firstLook)} ms.`],
    ratios: {
      checkouts_vs_worktree: round(time("ours") / time("worktrees"), 3),
      merge_vs_git_merge: round(time("integrate") / time("merge"), 3),
      disk_vs_full: round(disk("ours") / disk("worktrees"), 3),
    },
    figures: {
      checkouts_ms: Math.round(time("ours")),
      worktrees_ms: Math.round(time("worktrees")),
      integrate_ms: Math.round(time("integrate")),
      git_merge_ms: Math.round(time("merge")),
      first_snapshot_ms: Math.round(firstLook),
      checkouts_mib: mebibytes(disk("ours")),
      worktrees_mib: mebibytes(disk("worktrees")),
    },
  }
}
