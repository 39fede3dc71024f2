import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { type SettingsInput, settingsForTests } from "#core/settings.ts"

describe("the settings", () => {
  it("have the interface's defaults where nothing is set", () => {
    const settings = settingsForTests()
    expect(settings.Server).toMatchObject({ Port: 5_000, Host: "127.0.0.1", MaxBodyBytes: 1_048_576 })
    expect(settings.RunBounds).toEqual({ MaxSteps: 50, MaxMinutes: 10 })
    expect(settings.Runs).toEqual({
      MaxRevisions: 10,
      AllowedRepositoryRoots: [],
      Workers: 8,
      CommitEmail: "svc@localhost",
    })
    expect(settings.MemoryContext).toEqual({ MaxItems: 20, MaxTokens: 4_000 })
    expect(settings.Coordinator).toEqual({
      SubtaskStallTimeoutMinutes: 5,
      MaxParallelSubtasks: 4,
      AssemblyBuildTestTimeoutMinutes: 20,
      AssemblyBuildTestStallTimeoutMinutes: 12,
      PodLeaseStaleTtlSeconds: 120,
      PodLeaseHeartbeatSeconds: 30,
      StaleLockThresholdSeconds: 15,
      PostTurnFinalizationGraceSeconds: 10,
      PostTurnFinalizationMaxWaitSeconds: 300,
    })
    expect(settings.Sandbox.AgentExecutionMode).toBe("in-api")
    expect(settings.Sandbox.AgentHost).toEqual({ Port: 8_088, A2APath: "/a2a/agent", RequireMtls: true })
    expect(settings.Sandbox.Preview).toEqual({
      Enabled: false,
      AutoApprove: false,
      ApprovalTimeoutMinutes: 1_440,
      LifetimeMinutes: 1_440,
      GatewayConvergenceTimeoutSeconds: 600,
      PublicationTimeoutSeconds: 90,
      MaxConcurrentSessionsPerRun: 3,
      MaxConcurrentSessionsGlobal: 20,
      AllowedPortMin: 3_000,
      AllowedPortMax: 9_000,
      KeepAfterRun: true,
    })
    expect(settings.Sandbox.Kubernetes).toEqual({
      TimeoutSeconds: 600,
      AgentHostProvisioningTimeoutSeconds: 600,
      AgentHostReadyTimeoutSeconds: 90,
      ReadyPollIntervalMs: 1_000,
      AgentHostClaimCreationGraceSeconds: 300,
    })
    expect(settings.AgentHost).toEqual({
      ExecutionScratchRoot: "/local-workspace",
      ExecutionScratchMinimumFreeBytes: 8_589_934_592,
    })
  })

  it.each([
    ["an approval timeout below its bounds", { ApprovalTimeoutMinutes: 0 }, 1],
    ["an approval timeout above its bounds", { ApprovalTimeoutMinutes: 99_999 }, 1_440],
    ["an approval timeout within its bounds", { ApprovalTimeoutMinutes: 7 }, 7],
  ])("clamp %s", (_, Preview, expected) => {
    expect(settingsForTests({ Sandbox: { Preview } }).Sandbox.Preview.ApprovalTimeoutMinutes).toBe(expected)
  })

  it.each([
    [{ PostTurnFinalizationGraceSeconds: 0 }, 0.1, 300],
    [{ PostTurnFinalizationGraceSeconds: 99 }, 30, 300],
    [{ PostTurnFinalizationMaxWaitSeconds: 1 }, 10, 10],
    [{ PostTurnFinalizationMaxWaitSeconds: 9_999 }, 10, 600],
    [{ PostTurnFinalizationGraceSeconds: 20, PostTurnFinalizationMaxWaitSeconds: 15 }, 20, 20],
  ])("clamp the wait after a turn between its grace and 600 s: %j", (Coordinator, grace, wait) => {
    const coordinator = settingsForTests({ Coordinator }).Coordinator
    expect(coordinator.PostTurnFinalizationGraceSeconds).toBe(grace)
    expect(coordinator.PostTurnFinalizationMaxWaitSeconds).toBe(wait)
  })

  it("keep secrets out of every way of showing them", () => {
    const settings = settingsForTests({ Auth: { Keys: [{ Token: "canary-token", User: "ada" }] } })
    expect(JSON.stringify(settings)).not.toContain("canary")
    expect(String(settings.Auth.Keys[0]?.Token)).not.toContain("canary")
    expect(settings.Auth.Keys[0] && Redacted.value(settings.Auth.Keys[0].Token)).toBe("canary-token")
  })

  const refused: ReadonlyArray<readonly [string, SettingsInput]> = [
    ["a port outside 0 to 65535", { Server: { Port: 70_000 } }],
    ["a port that is no integer", { Server: { Port: 80.5 } }],
    ["an origin with a path", { Server: { CorsOrigins: ["https://a.example/x"] } }],
    ["an unknown execution mode", { Sandbox: { AgentExecutionMode: "pod" as "in-api" } }],
    ["a database that is not PostgreSQL", { Database: { Url: "mysql://localhost/x" } }],
    ["a key without its user", { Auth: { ApiKey: "secret-key" } }],
    ["a user without a key", { Auth: { User: "ada" } }],
    [
      "one key for two users",
      {
        Auth: {
          Keys: [
            { Token: "k", User: "ada" },
            { Token: "k", User: "bob" },
          ],
        },
      },
    ],
    [
      "a person's key that is the internal key",
      { Auth: { InternalKey: "shared", Keys: [{ Token: "shared", User: "ada" }] } },
    ],
    ["a person with the internal identity's name", { Auth: { Keys: [{ Token: "k", User: "svc-internal" }] } }],
    ["a token that no header can carry", { Auth: { Keys: [{ Token: "two words", User: "ada" }] } }],
    ["a port range that is empty", { Sandbox: { Preview: { AllowedPortMin: 9_500 } } }],
    [
      "a convergence deadline within the DNS interval",
      { Sandbox: { Preview: { GatewayConvergenceTimeoutSeconds: 180 } } },
    ],
    ["a lease that one late heartbeat loses", { Coordinator: { PodLeaseHeartbeatSeconds: 90 } }],
    ["a control character in a name", { Telemetry: { ServiceName: "a\nb" } }],
    [
      "a marketplace path that climbs out",
      { SkillMarketplaces: { Definitions: [{ Name: "a", Repository: "o/r", Subpath: "a/../../b" }] } },
    ],
    [
      "two marketplaces of one name",
      {
        SkillMarketplaces: {
          Definitions: [
            { Name: "a", Repository: "o/r" },
            { Name: "a", Repository: "o/s" },
          ],
        },
      },
    ],
  ]
  it.each(refused)("refuse %s", (_, input) => {
    expect(() => settingsForTests(input)).toThrow()
  })
})
