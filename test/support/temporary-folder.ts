/** A folder of a test's own, removed when the test has ended. */
import { mkdtemp, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished } from "vitest"

export const temporaryFolder = async (): Promise<string> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "svc-test-")))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}
