import { mkdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { defaultPolicy } from "#core/sandbox-policy/policy.ts"
import { rootsOf } from "#core/sandbox-policy/roots.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

it("lets commands read what lies where a policy may point, and nothing else", async () => {
  const folder = await temporaryFolder()
  const repository = join(folder, "allowed/repository")
  for (const name of ["docs", "../shared", "../../secret", "../../allowed-not"]) {
    await mkdir(join(repository, name), { recursive: true })
  }
  await symlink(join(folder, "secret"), join(repository, "out"))
  await symlink(join(repository, "docs"), join(repository, "in"))
  const allowedRepositoryRoots = [
    ...["docs", "in", "out", "gone", join(folder, "allowed/shared"), join(folder, "secret")],
    ...[join(folder, "allowed-not"), "/etc"],
  ]
  const policy = { ...defaultPolicy, allowedRepositoryRoots }
  const roots = (allowed: ReadonlyArray<string>) => Effect.runPromise(rootsOf(policy, repository, allowed))
  expect(await roots([join(folder, "allowed")])).toEqual({
    paths: [join(repository, "docs"), join(folder, "allowed/shared")],
    left: ["out", "gone", join(folder, "secret"), join(folder, "allowed-not"), "/etc"],
  })
  expect((await roots([])).paths).toEqual([join(repository, "docs")])
})
