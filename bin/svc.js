#!/usr/bin/env -S node --max-semi-space-size=4
// Plain JavaScript, so that a Node.js that is too old still says so. Everything else is in runtime/cli.ts.
// The small young generation saves an idle service 40 MB that it needed only while it started.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import module from "node:module"
import process from "node:process"
import { fileURLToPath } from "node:url"

const [major, minor] = process.versions.node.split(".").map(Number)
const tooOld = major < 22 || (major === 22 && minor < 19) || !process.features.typescript
const ownNode = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url))

if (tooOld && process.argv[2] === "plugin" && existsSync(ownNode)) {
  // A policy's folder has no Node.js of its own, and its author any. These commands are short: nobody sends them signals.
  const own = spawnSync(ownNode, process.argv.slice(1), { stdio: "inherit" })
  process.exitCode = own.status ?? 1
} else if (tooOld) {
  console.error(
    `svc needs Node.js 22.19 or newer (24 is best), and this is ${process.versions.node}: ` +
      "start it with `npm start` or `npm run svc`, which bring the right one along.",
  )
  process.exitCode = 1
} else {
  module.enableCompileCache()
  const { main } = await import("../runtime/cli.ts")
  await main(process.argv)
}
