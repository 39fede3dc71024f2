import { execFileSync } from "node:child_process"
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Exit, Result } from "effect"
import { describe, expect, it } from "vitest"
import { bodyOf, defaultPolicy, readPolicyBody, type SandboxPolicy } from "#core/sandbox-policy/policy.ts"
import { effectivePolicy, readSandboxPolicy, writeSandboxPolicy } from "#core/sandbox-policy/stored-policy.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const repositoryWith = async (text?: string): Promise<string> => {
  const repository = await temporaryFolder()
  if (text !== undefined) {
    await mkdir(join(repository, ".svc"))
    await writeFile(join(repository, ".svc/settings.yml"), text)
  }
  return repository
}
const settingsOf = (repository: string) => readFile(join(repository, ".svc/settings.yml"), "utf8")
const read = (repository: string) => Effect.runPromise(readSandboxPolicy(repository))
const refusalOf = async (repository: string): Promise<string> => {
  const exit = await Effect.runPromiseExit(Effect.flip(readSandboxPolicy(repository)))
  return Exit.isSuccess(exit) ? exit.value.message : "it was read"
}
const write = (repository: string, policy: SandboxPolicy) =>
  Effect.runPromiseExit(writeSandboxPolicy(repository, policy))

describe("the policy of a repository", () => {
  it("is the default where there is no file, or no section in it", async () => {
    expect(await read(await repositoryWith())).toEqual(defaultPolicy)
    expect(await read(await repositoryWith(""))).toEqual(defaultPolicy)
    expect(await read(await repositoryWith("other: 1\n"))).toEqual(defaultPolicy)
    expect(defaultPolicy).toMatchObject({
      shellEnabled: true,
      redactPii: true,
      maxOutputBytes: 4_194_304,
      direct: false,
    })
  })

  it("has the default of every member that the file leaves out", async () => {
    const repository = await repositoryWith("sandbox:\n  shell_enabled: false\n")
    expect(await read(repository)).toEqual({ ...defaultPolicy, shellEnabled: false })
  })

  it("is read as it was written", async () => {
    const repository = await repositoryWith()
    const policy = {
      ...defaultPolicy,
      destructiveCommandPatterns: ["drop table: 'x'"],
      maxOutputBytes: 1,
      direct: true,
    }
    expect(Exit.isSuccess(await write(repository, policy))).toBe(true)
    expect(await read(repository)).toEqual(policy)
    expect(await readdir(join(repository, ".svc"))).toEqual(["settings.yml"])
  })

  it("leaves everything else in the file as it was", async () => {
    const before = "# ours\nbefore: [1, 2] # kept\nsandbox:\n  shell_enabled: false\nafter:\n  x: y\n"
    const repository = await repositoryWith(before)
    await write(repository, defaultPolicy)
    const after = await settingsOf(repository)
    expect(after).toMatch(/^# ours\nbefore: \[ ?1, 2 ?\] # kept\nsandbox:\n {2}shell_enabled: true\n/)
    expect(after).toMatch(/\nafter:\n {2}x: y\n$/)
    expect((await stat(join(repository, ".svc/settings.yml"))).mode & 0o777).toBe(0o644)
  })

  it.each([
    ["a member that nobody knows", "sandbox:\n  shell_enable: false\n", /shell_enable/],
    ["a value of another kind", "sandbox:\n  shell_enabled: 'no'\n", /shell_enabled/],
    ["text that is not YAML", "sandbox: {\n", /cannot be read: line/],
    ["a key that is there twice", "sandbox: {}\nsandbox: {}\n", /cannot be read/],
    ["a list", "- sandbox\n", /not a list of settings/],
    ["aliases", "a: &a [1]\nsandbox: *a\n", /./],
    ["too much", `# ${"x".repeat(300_000)}\n`, /larger/],
  ])("is refused with %s", async (_, text, reason) => {
    const refusal = await refusalOf(await repositoryWith(text))
    expect(refusal).toMatch(reason)
    expect(refusal).toContain("cannot be read")
  })

  it("is refused where a link stands in the place of the file or the folder, and nothing is written", async () => {
    const elsewhere = await repositoryWith("sandbox:\n  direct: true\n")
    const linkedFile = await temporaryFolder()
    await mkdir(join(linkedFile, ".svc"))
    await symlink(join(elsewhere, ".svc/settings.yml"), join(linkedFile, ".svc/settings.yml"))
    const linkedFolder = await temporaryFolder()
    await symlink(join(elsewhere, ".svc"), join(linkedFolder, ".svc"))
    for (const repository of [linkedFile, linkedFolder]) {
      expect(await refusalOf(repository)).toMatch(/is a link|is not a folder/)
      expect(Exit.isFailure(await write(repository, defaultPolicy))).toBe(true)
    }
    expect(await settingsOf(elsewhere)).toBe("sandbox:\n  direct: true\n")
  })

  it("is refused, and not waited for, where the file is a pipe or a folder", async () => {
    const pipe = await temporaryFolder()
    await mkdir(join(pipe, ".svc"))
    execFileSync("mkfifo", [join(pipe, ".svc/settings.yml")])
    const folder = await temporaryFolder()
    await mkdir(join(folder, ".svc/settings.yml"), { recursive: true })
    for (const repository of [pipe, folder]) expect(await refusalOf(repository)).toMatch(/is not a file/)
  })

  it("lets nothing run in the shell where it cannot be read, and says why", async () => {
    const effective = (repository: string) => Effect.runPromise(effectivePolicy(repository))
    expect(await effective(await repositoryWith())).toEqual({ policy: defaultPolicy, shellOff: null })
    const closed = await effective(await repositoryWith("sandbox:\n  redact_pii: perhaps\n"))
    expect(closed.policy).toMatchObject({ shellEnabled: false, redactPii: true })
    expect(closed.shellOff).toContain("redact_pii")
  })

  it("names no path of this machine when it cannot be used", async () => {
    const repository = await temporaryFolder()
    expect(await refusalOf(join(repository, "gone"))).not.toContain(repository)
  })
})

describe("a policy that is sent", () => {
  const sent = (change: Readonly<Record<string, unknown>>) => {
    const { direct: _, network_enabled: __, ...required } = bodyOf(defaultPolicy)
    return readPolicyBody({ ...required, ...change })
  }

  it("has every member of the interface", () => {
    expect(sent({})).toEqual(Result.succeed(defaultPolicy))
    expect(Result.isFailure(readPolicyBody({}))).toBe(true)
    const missing = Result.getFailure(readPolicyBody({}))
    expect(missing._tag === "Some" && missing.value).toHaveLength(6)
  })

  it.each([
    { max_output_bytes: 0 },
    { max_output_bytes: 104_857_601 },
    { max_output_bytes: 1.5 },
    { shell_enabled: "true" },
    { shell_enabled: null },
    { allowed_repository_roots: Array.from({ length: 21 }, () => "x") },
    { allowed_repository_roots: ["../elsewhere"] },
    { allowed_repository_roots: ["a/../../b"] },
    { allowed_repository_roots: ["C:\\x"] },
    { destructive_command_patterns: [""] },
    { destructive_command_patterns: [" "] },
    { destructive_command_patterns: ["two\nlines"] },
    { destructive_command_patterns: ["x".repeat(501)] },
    { surprise: 1 },
  ])("is refused with %j", (change) => {
    expect(Result.isFailure(sent(change))).toBe(true)
  })

  it.each([
    { max_output_bytes: 1 },
    { max_output_bytes: 104_857_600 },
    { allowed_repository_roots: ["docs", "a/b", "/srv/shared", "..a"] },
    { destructive_command_patterns: [] },
    { network_enabled: true },
  ])("is taken with %j", (change) => {
    expect(Result.isSuccess(sent(change))).toBe(true)
  })
})
