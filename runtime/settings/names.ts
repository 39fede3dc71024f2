/** Names of settings beside `Section__Key`: those that platforms use, and those of earlier versions. */

/** Variables that platforms and the interface name; `Section__Key` of the same setting wins over them. */
export const specialNames: ReadonlyMap<string, string> = new Map([
  ["PORT", "Server__Port"],
  ["SVC_DATA_DIR", "Data__Directory"],
  ["DATABASE_URL", "Database__Url"],
  ["SVC_API_KEY", "Auth__InternalKey"],
  ["SANDBOX_PREVIEW_AUTO_APPROVE", "Sandbox__Preview__AutoApprove"],
  ["SVC_RUN_COMMAND_DEFAULT_TIMEOUT_SECONDS", "Sandbox__RunCommandDefaultTimeoutSeconds"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "Telemetry__OtlpEndpoint"],
])

/** Keys that were renamed and are still read. */
export const formerNames: ReadonlyMap<string, string> = new Map([
  ["DnsConvergenceTimeoutSeconds", "GatewayConvergenceTimeoutSeconds"],
])

/** Settings that are gone, and what to do instead. */
export const retired: ReadonlyMap<string, string> = new Map([
  [
    "Coordinator:AssemblyReviewTimeoutMinutes",
    "This was retired: a review waits for a person without limit. Remove it.",
  ],
])
