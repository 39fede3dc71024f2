import { describe, expect, it } from "vitest"
import { isInside, parseMountTable, readMountTable } from "#runtime/sandbox/mount-table.ts"

const table = parseMountTable(`22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:20 / /proc rw,nosuid,nodev,noexec - proc proc rw
24 22 0:30 / /srv rw,noexec - tmpfs tmpfs rw
25 24 0:31 / /srv/with\\040space rw,nosuid - tmpfs tmpfs rw
26 22 0:32 / /srv rw - tmpfs tmpfs rw
27 22 0:33 / /data rw,noexec,nosuid - tmpfs tmpfs rw
`)

describe("the table of mounts", () => {
  it.each([
    ["/", false],
    ["/home/somebody", false],
    ["/proc", true],
    ["/proc/self", true],
    ["/procedures", false],
    ["/data", true],
    ["/data/deep/in/it", true],
    // what was mounted over it later is what counts
    ["/srv", false],
    ["/srv/with space", false],
  ])("knows whether programs run in %s", (path, noexec) => {
    expect(table.isNoexec(path)).toBe(noexec)
  })

  it("knows what is mounted inside of a folder", () => {
    expect(table.below("/srv")).toEqual(["/srv/with space"])
    expect(table.below("/")).toEqual(["/proc", "/srv", "/srv/with space", "/data"])
    expect(table.below("/data")).toEqual([])
  })

  it("tells inside from beginning alike", () => {
    expect([isInside("/a/b", "/a"), isInside("/ab", "/a"), isInside("/a", "/a"), isInside("/a", "/")]).toEqual([
      true,
      false,
      false,
      true,
    ])
  })

  it.skipIf(process.platform !== "linux")("is read from the kernel", async () => {
    expect((await readMountTable()).below("/")).toContain("/proc")
  })
})
