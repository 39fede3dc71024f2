/** Where agents run and their commands are confined, and how their previews are published. */
import {
  absolutePath,
  choice,
  clamped,
  dnsName,
  flag,
  formOf,
  integer,
  nested,
  optionalText,
  secret,
  section,
  textOf,
} from "#core/settings/field.ts"

const dayMinutes = 1_440
/** A new DNS record is seen by the cluster's reconcile loop after 3 minutes at the latest; the deadline must exceed it. */
const shortestConvergenceSeconds = 181

const Preview = section(
  "Previews of what agents built.",
  {
    Enabled: flag("Publish previews under host names of their own; true in clusters, else a port on this host.", false),
    AutoApprove: flag("Agents may publish previews without asking.", false),
    ApprovalTimeoutMinutes: clamped("Minutes until a request to publish expires; clamped 1 to 1440.", dayMinutes, {
      min: 1,
      max: dayMinutes,
    }),
    LifetimeMinutes: integer("Minutes that a preview lives from its publication.", dayMinutes, {
      min: 1,
      max: dayMinutes,
    }),
    GatewayConvergenceTimeoutSeconds: integer(
      "Seconds until a published name must resolve and reach the gateway; more than 180.",
      600,
      { min: shortestConvergenceSeconds, max: 3_600 },
    ),
    PublicationTimeoutSeconds: integer("Seconds for the application to answer once the gateway reaches it.", 90, {
      min: 1,
      max: 3_600,
    }),
    MaxConcurrentSessionsPerRun: integer("Previews that one run may have at a time.", 3, { min: 1, max: 100 }),
    MaxConcurrentSessionsGlobal: integer("Previews that may be open at a time.", 20, { min: 1, max: 10_000 }),
    AllowedPortMin: integer("Lowest port of an application that may be published.", 3_000, { min: 1, max: 65_535 }),
    AllowedPortMax: integer("Highest port of an application that may be published.", 9_000, { min: 1, max: 65_535 }),
    ZoneSuffix: optionalText("DNS zone of the preview host names, such as preview.example.com.", dnsName),
    GatewayName: optionalText("Name of the Gateway resource that previews attach to.", dnsName),
    GatewayNamespace: optionalText("Namespace of that Gateway.", dnsName),
    Namespace: optionalText("Namespace of the preview routes and services.", dnsName),
    KeepAfterRun: flag("A preview outlives the run that made it, until its lifetime ends.", true),
  },
  (preview) =>
    preview.AllowedPortMin <= preview.AllowedPortMax
      ? []
      : [{ path: ["AllowedPortMin"], issue: "Expected at most Sandbox:Preview:AllowedPortMax" }],
)

const Kubernetes = section("Sandbox pods.", {
  TimeoutSeconds: integer("Lifetime in seconds of a pod's claim while it shows no preview.", 600, {
    min: 30,
    max: 86_400,
  }),
  AgentHostProvisioningTimeoutSeconds: integer("Seconds for a claim to be given a pod.", 600, { min: 1, max: 86_400 }),
  AgentHostReadyTimeoutSeconds: integer("Seconds for a bound pod to become ready.", 90, { min: 1, max: 3_600 }),
  ReadyPollIntervalMs: integer("Milliseconds between looks at a pod that is not ready.", 1_000, {
    min: 50,
    max: 60_000,
  }),
  AgentHostClaimCreationGraceSeconds: integer(
    "Age in seconds below which a claim is no orphan; at least the readiness timeout and 30 s count.",
    300,
    { min: 0, max: 86_400 },
  ),
})

const AgentHostClient = section("How the service reaches a sandbox pod.", {
  Port: integer("Port of the pod's listener.", 8_088, { min: 1, max: 65_535 }),
  A2APath: textOf(
    "Base path of the turn interface; the pod must have the same.",
    "/a2a/agent",
    formOf("a path such as /a2a/agent", /^(?:\/[A-Za-z0-9._~-]+)+$/),
  ),
  RequireMtls: flag("Speak to pods over mutual TLS only.", true),
})

export const Sandbox = section("Where agents run.", {
  AgentExecutionMode: choice(
    "`in-api`: turns in this process, commands in a local sandbox; `pod-per-run`: each run in a pod of its own.",
    ["in-api", "pod-per-run"],
    "in-api",
  ),
  ReleasePodOnSuspend: flag("Give a pod back while its run waits for a person.", true),
  RunCommandDefaultTimeoutSeconds: integer("Seconds of a command of an agent that names no limit.", 1_800, {
    min: 1,
    max: 86_400,
  }),
  Preview: nested(Preview),
  Kubernetes: nested(Kubernetes),
  AgentHost: nested(AgentHostClient),
})

const gibibyte = 1_073_741_824

export const AgentHost = section("The program inside a sandbox pod.", {
  ExecutionScratchRoot: textOf("Folder of the checkouts in the pod.", "/local-workspace", absolutePath),
  ExecutionScratchMinimumFreeBytes: integer("Bytes that must be free there before a turn starts.", 8 * gibibyte, {
    min: 0,
    max: 1_024 * gibibyte,
  }),
  CardBearerToken: secret("Bearer token of the capability card; absent leaves the card open."),
})
