/** Where commands of agents are executed. */
import { Context, type Duration, type Effect, Schema } from "effect"

/** The names of the interface. */
export const sandboxBackends = [
  "processcontainer",
  "wsl-lxc",
  "linux-bwrap",
  "lxc-native-linux",
  "kubernetes",
  "direct",
  "passthrough-deny",
] as const
export type SandboxBackend = (typeof sandboxBackends)[number]

export interface SandboxStatus {
  readonly backend: SandboxBackend
  readonly isRealIsolation: boolean
  /** Which tool isolates, or what is missing and how to get it. */
  readonly reason: string
}

/** A folder that a command sees: at the same path inside as outside. */
export interface Mount {
  readonly path: string
  readonly writable: boolean
}

export interface Execution {
  /** Given to `/bin/sh -c`. */
  readonly command: string
  /** The checkout: writable, and the working directory. Real path. */
  readonly workingDirectory: string
  /** More that is seen; wins over the checkout where it lies inside of it. */
  readonly mounts: ReadonlyArray<Mount>
  readonly network: boolean
  /** Run without isolation: only where the policy says `direct`. */
  readonly direct: boolean
  readonly timeout: Duration.Duration
  /** Bytes of both streams together that are passed on; the rest is read and dropped. */
  readonly maxOutputBytes: number
  readonly environment: Readonly<Record<string, string>>
  /** Raw bytes as they come. It must not fail; a slow one slows the command. */
  readonly onOutput: (stream: "stdout" | "stderr", chunk: Uint8Array) => Effect.Effect<void>
}

export interface Executed {
  /** -1 where it was killed: out of time, or by a limit. */
  readonly exitCode: number
  readonly timedOut: boolean
  readonly outputTruncated: boolean
}

/** The command was not started. The reason is for people and models; it names no path of the service. */
export class SandboxRefused extends Schema.TaggedError<SandboxRefused>()("SandboxRefused", { reason: Schema.String }) {}

export class Sandbox extends Context.Service<
  Sandbox,
  {
    /** Probed once, at the first question. */
    readonly status: Effect.Effect<SandboxStatus>
    /** Interrupting it kills the command with all that it started. */
    readonly run: (execution: Execution) => Effect.Effect<Executed, SandboxRefused>
  }
>()("core/Sandbox") {}
