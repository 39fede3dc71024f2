import { spawn } from "node:child_process"
import { mkdir, open, readdir, readFile, rmdir, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { afterAll } from "vitest"
import { Sandbox } from "#core/ports/sandbox.ts"
import { Settings, settingsForTests } from "#core/settings.ts"
import { defaultLimits } from "#runtime/sandbox/limits.ts"
import { lookAtMachine } from "#runtime/sandbox/machine.ts"
import { byNamespaces } from "#runtime/sandbox/namespaces.ts"
import { sandboxLayer } from "#runtime/sandbox/sandbox.ts"
import { runProgram } from "#runtime/sandbox/start.ts"
import { shownTo } from "#runtime/sandbox/view.ts"
import { commandsIn, executionIn, makeWorld, secret } from "#test/support/sandbox-world.ts"

const world = await makeWorld()
afterAll(world.close)
const sandbox = await Effect.runPromise(commandsIn(world))
const status = await Effect.runPromise(sandbox.status)
const { run } = sandbox

describe.skipIf(!status.isRealIsolation)(`a command in a sandbox (${status.reason})`, () => {
  it.live("gives its exit code and both streams", () =>
    Effect.gen(function* () {
      const streams: Array<string> = []
      const told = yield* run("echo out; echo err >&2; exit 7", {
        onOutput: (stream, chunk) => Effect.sync(() => streams.push(`${stream}: ${Buffer.from(chunk)}`)),
      })
      expect(told).toMatchObject({ exitCode: 7, timedOut: false, outputTruncated: false })
      expect(streams.sort()).toEqual(["stderr: err\n", "stdout: out\n"])
    }),
  )

  it.live("opens its streams by their names", () =>
    Effect.gen(function* () {
      const { output, exitCode } = yield* run(
        "echo out >/dev/stdout && echo err >/dev/stderr && echo x | tee /dev/stderr",
      )
      expect(exitCode).toBe(0)
      expect(output.split("\n").sort()).toEqual(["", "err", "out", "x", "x"])
    }),
  )

  it.live("gives 128 and the signal where one ended it", () =>
    Effect.gen(function* () {
      expect((yield* run("kill -9 $$")).exitCode).toBe(137)
      expect((yield* run("kill -TERM $$")).exitCode).toBe(143)
    }),
  )

  it.live("works in the checkout, and what it writes is there", () =>
    Effect.gen(function* () {
      const { output } = yield* run("pwd; mkdir -p made && echo new >made/file")
      expect(output).toBe(`${world.checkout}\n`)
      expect(yield* Effect.promise(() => readFile(join(world.checkout, "made", "file"), "utf8"))).toBe("new\n")
    }),
  )

  it.live("writes nothing beside the checkout", () =>
    Effect.gen(function* () {
      const beside = dirname(world.checkout)
      const before = yield* Effect.promise(() => readdir(beside))
      yield* run('echo x >../new; echo x >../../new; echo x >"$DATA/new"; rm -rf ../*')
      expect(yield* Effect.promise(() => readdir(beside))).toEqual(before)
      expect(yield* Effect.promise(() => readdir(world.data))).toEqual(["git", "secret"])
    }),
  )

  it.live("reads what it is shown, at the same path", () =>
    Effect.gen(function* () {
      expect((yield* run('cat "$LIBRARY/secret" .git/secret')).output).toBe(secret + secret)
      const writable = yield* run('echo more >>"$LIBRARY/written"; cat "$LIBRARY/written"', {
        mounts: [{ path: world.library, writable: true }],
      })
      expect(writable.output).toBe("more\n")
    }),
  )

  it.live("is read as a script by its own shell only", () =>
    Effect.gen(function* () {
      const odd = "a'b\"c$(echo no)`echo no`\\ \n;|&<>{}*?~#! é"
      expect((yield* run('printf %s "$ODD"', { environment: { ODD: odd } })).output).toBe(odd)
      expect((yield* run("cat <<'X'\n$(echo no) `echo no` \" '\nX")).output).toBe("$(echo no) `echo no` \" '\n")
      expect((yield* run("exit 3 # '; echo no")).exitCode).toBe(3)
    }),
  )

  it.live("has an environment of its own", () =>
    Effect.gen(function* () {
      process.env.SVC_TEST_CANARY = secret
      const given = { FOO: "bar", name: "1", "NOT A NAME": "2" }
      const { output } = yield* run("unset PWD; env", { environment: given })
      delete process.env.SVC_TEST_CANARY
      expect(
        output
          .split("\n")
          .map((line) => line.split("=")[0] ?? "")
          .sort(),
      ).toEqual(["", "CI", "FOO", "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "name"])
    }),
  )

  it.live("loads a library that it names only after everything was given up", () =>
    Effect.gen(function* () {
      const { output } = yield* run("true", { environment: { LD_PRELOAD: "./not-there.so" } })
      const complaints = output.split("\n").filter((line) => line.includes("not-there.so"))
      // the shell of the command, and not the programs that confine it
      expect(complaints).toHaveLength(1)
    }),
  )

  it.live("has nothing to read, and no terminal", () =>
    Effect.gen(function* () {
      expect((yield* run("cat; tty")).output).toBe("not a tty\n")
    }),
  )

  it.live("inherits nothing that the service was started with", () =>
    Effect.promise(async () => {
      const opened = await open(join(world.outside, "secret"))
      // Node.js itself closes the lowest
      const stdio = Array.from({ length: 41 }, (_, descriptor) => (descriptor === 40 ? opened.fd : "ignore"))
      const said = (file: string, args: ReadonlyArray<string>) =>
        new Promise((ended) => {
          let output = ""
          const child = spawn(file, args, { stdio: ["ignore", "pipe", ...stdio.slice(2)] })
          child.stdout?.on("data", (chunk) => (output += chunk))
          child.once("close", () => ended(output))
        })
      const command = "cat /proc/self/fd/40; echo read"
      const service = fileURLToPath(new URL("../../test/support/sandbox-service.ts", import.meta.url))
      expect(await said("sh", ["-c", command])).toBe(`${secret}read\n`)
      expect(await said(process.execPath, [service, world.data, world.checkout, command])).toBe("read\n")
      await opened.close()
    }),
  )

  it.live("runs node, npm and git", () =>
    Effect.gen(function* () {
      const { output, exitCode } = yield* run("node --version && npm --version && git --version")
      expect(output).toMatch(new RegExp(`^${process.version}\n\\d+\\.\\d+\\.\\d+\ngit version `))
      expect(exitCode).toBe(0)
    }),
  )

  it.live("listens and connects on its own localhost", () =>
    Effect.gen(function* () {
      const script = `require("http").createServer((q, r) => r.end("served")).listen(3000, "127.0.0.1", () =>
        fetch("http://localhost:3000/").then((r) => r.text()).then((text) => { console.log(text); process.exit(0) }))`
      expect((yield* run(`node -e '${script}'`)).output).toBe("served\n")
    }),
  )

  it.live("reaches the machine only where the network is allowed", () =>
    Effect.gen(function* () {
      const fetch = `node -e 'require("net").connect(process.env.PORT, "127.0.0.1").on("error", () => console.log("no")).pipe(process.stdout)'`
      expect((yield* run(fetch)).output).toBe("no\n")
      expect((yield* run(fetch, { network: true })).output).toBe(secret)
    }),
  )

  it.live("may be one of fifty at a time", () =>
    Effect.gen(function* () {
      const all = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, index) => index),
        (index) => run(`echo ${index} >f${index}; cat f${index}; exit ${index}`),
        { concurrency: "unbounded" },
      )
      expect(all.map(({ exitCode, output }) => `${exitCode} ${output}`)).toEqual(
        all.map((_, index) => `${index} ${index}\n`),
      )
    }),
  )

  it.live("passes on so much output and reads the rest without keeping it", () =>
    Effect.gen(function* () {
      const before = process.memoryUsage().rss
      const told = yield* run("yes | head -c 300000000; echo end >&2; exit 5", { maxOutputBytes: 1_000 })
      expect(told).toMatchObject({ exitCode: 5, outputTruncated: true })
      expect(told.output).toHaveLength(1_000)
      expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
    }),
  )

  it.live("does not count as cut where all output fits exactly", () =>
    Effect.gen(function* () {
      expect(yield* run("printf 12345", { maxOutputBytes: 5 })).toMatchObject({
        output: "12345",
        outputTruncated: false,
      })
    }),
  )

  it.live("waits while its output is taken in", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const started = yield* Deferred.make<void>()
      let bytes = 0
      const command = "touch began; head -c 50000000 /dev/zero; touch finished"
      const running = yield* Effect.forkChild(
        run(command, {
          maxOutputBytes: 100_000_000,
          onOutput: (_, chunk) =>
            Effect.gen(function* () {
              bytes += chunk.length
              yield* Deferred.succeed(started, undefined)
              yield* Deferred.await(go)
            }),
        }),
      )
      yield* Deferred.await(started)
      expect(yield* Effect.promise(() => readdir(world.checkout))).not.toContain("finished")
      yield* Deferred.succeed(go, undefined)
      expect((yield* Fiber.join(running)).exitCode).toBe(0)
      expect(bytes).toBe(50_000_000)
      expect(yield* Effect.promise(() => readdir(world.checkout))).toContain("finished")
    }),
  )
})

describe("a sandbox", () => {
  const refused = (given: Parameters<typeof run>[1], command = "true") =>
    Effect.map(Effect.flip(run(command, given)), ({ reason }) => reason)

  it.live("refuses to show what belongs to the system or the service", () =>
    Effect.gen(function* () {
      for (const path of [
        "/",
        "/etc",
        "/usr",
        "/proc/self",
        "/run",
        "/tmp",
        "/sys/fs",
        "relative",
        "/a\nb",
        world.data,
      ]) {
        const reason = yield* refused({ mounts: [{ path, writable: false }] })
        expect(reason).toBe("A folder that the command should see belongs to the system or the service.")
      }
    }).pipe(Effect.when(Effect.succeed(status.isRealIsolation))),
  )

  it.live("refuses a folder that is a link, or is not there", () =>
    Effect.gen(function* () {
      const link = join(world.outside, "link")
      yield* Effect.promise(() => symlink(world.data, link))
      for (const path of [link, join(world.outside, "gone"), join(world.outside, "secret")]) {
        expect(yield* refused({ mounts: [{ path, writable: false }] })).toContain("not there, or is a link")
        expect(yield* refused({ workingDirectory: path })).toContain("not there, or is a link")
      }
    }).pipe(Effect.when(Effect.succeed(status.isRealIsolation))),
  )

  it.live("does not follow what became a link after it was looked at", () =>
    Effect.gen(function* () {
      const machine = yield* Effect.promise(lookAtMachine)
      const shown = join(world.checkout, "shown")
      yield* Effect.promise(() => mkdir(shown))
      const execution = executionIn(world, "cat shown/secret; echo >linked", {
        mounts: [{ path: shown, writable: false }],
      })
      const folders = yield* shownTo(execution, { machine, dataFolder: world.data })
      const program = yield* Effect.promise(() => byNamespaces(execution, folders, machine, defaultLimits))
      yield* Effect.promise(async () => {
        await rmdir(shown)
        await symlink(world.outside, shown)
      })
      const { reason } = yield* Effect.flip(runProgram(program, execution, defaultLimits))
      expect(reason).toBe("The sandbox could not be set up.")
      expect(yield* Effect.promise(() => readdir(world.checkout))).not.toContain("linked")
    }).pipe(Effect.when(Effect.succeed(status.isRealIsolation))),
  )

  it.live("hides the data folder also inside of what it shows", () =>
    Effect.gen(function* () {
      const above = dirname(world.data)
      const { output } = yield* run('exec 2>&1; ls -A "$DATA"; cat "$OUTSIDE/secret"; pwd; cat "$DATA/secret"', {
        mounts: [{ path: above, writable: false }],
      })
      expect(output).toMatch(/^git\ncanary-6f1d0c\/.*tree\n.*No such file/s)
    }).pipe(Effect.when(Effect.succeed(status.isRealIsolation))),
  )

  it.live("refuses commands that no shell can be given", () =>
    Effect.gen(function* () {
      expect(yield* refused({}, "echo \0")).toContain("NUL")
      expect(yield* refused({}, `: ${"x".repeat(131_072)}`)).toContain("longer than")
    }),
  )

  it.live("runs without isolation only what is to be run directly", () =>
    Effect.gen(function* () {
      const nothing = yield* commandsIn(world, {}, [])
      const { backend, isRealIsolation, reason } = yield* nothing.status
      expect({ backend, isRealIsolation }).toEqual({ backend: "passthrough-deny", isRealIsolation: false })
      expect((yield* Effect.flip(nothing.run("true"))).reason).toBe(reason)
      const told = yield* nothing.run('cat "$DATA/secret"; env | grep -c CI=1; exit 4', { direct: true })
      expect(told).toMatchObject({ exitCode: 4, output: `${secret}1\n` })
    }),
  )

  it.live("is a service of the settings' data folder", () =>
    Effect.gen(function* () {
      const told = yield* (yield* Sandbox).status
      expect(told.backend).toBe(status.backend)
      const execution = executionIn(world, "true", {
        mounts: [{ path: world.data, writable: false }],
        timeout: Duration.seconds(5),
      })
      expect((yield* Effect.flip((yield* Sandbox).run(execution))).reason).toMatch(/belongs to|refused/)
    }).pipe(
      Effect.provide(
        sandboxLayer.pipe(
          Layer.provide(Layer.succeed(Settings, settingsForTests({ Data: { Directory: world.data } }))),
        ),
      ),
    ),
  )
})
