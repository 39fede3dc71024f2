// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the settings file has references of this form
import { Redacted, Result } from "effect"
import { describe, expect, it } from "vitest"
import { sourceText } from "#runtime/settings/problem.ts"
import { resolveSettings, type Written } from "#runtime/settings/resolve.ts"

const written = (text: string | undefined, environment: Written["environment"] = {}, name = "svc.yml"): Written => ({
  ...(text === undefined ? {} : { file: { name, path: `/etc/svc/${name}`, text } }),
  environment,
  workingDirectory: "/srv",
})

const loaded = (...args: Parameters<typeof written>) => Result.getOrThrow(resolveSettings(written(...args)))

/** `source: path: message` of each problem. */
const problems = (...args: Parameters<typeof written>): ReadonlyArray<string> => {
  const result = resolveSettings(written(...args))
  return Result.isSuccess(result)
    ? []
    : result.failure.problems.map(({ source, path, message }) => `${sourceText(source)}: ${path}: ${message}`)
}

describe("the settings file", () => {
  it("gives values nested or with colons in the key", () => {
    const { values } = loaded("Sandbox:AgentExecutionMode: pod-per-run\nSandbox:\n  Preview:AllowedPortMax: 4000\n")
    expect(values.Sandbox.AgentExecutionMode).toBe("pod-per-run")
    expect(values.Sandbox.Preview.AllowedPortMax).toBe(4_000)
  })

  it("may be JSON, with tabs", () => {
    expect(
      loaded('{\n\t"Server": {\n\t\t"Port": 1,\n\t\t"AllowedHosts": ["a"]\n\t}\n}', {}, "svc.json").values.Server,
    ).toMatchObject({
      Port: 1,
      AllowedHosts: ["a"],
    })
  })

  it.each(["", "# nothing\n", "Server:\n", "Server:\n  Port:\n", "Auth: { Keys: [] }"])(
    "may be as good as empty: %j",
    (text) => {
      expect(loaded(text).values.Server.Port).toBe(5_000)
    },
  )

  it("takes names that look like numbers as they are written", () => {
    expect(loaded("Auth: { Keys: [{ Token: 0012, User: true }] }").values.Auth.Keys[0]).toMatchObject({ User: "true" })
    const key = loaded("Auth: { Keys: [{ Token: 0012, User: true }] }").values.Auth.Keys[0]
    expect(key && Redacted.value(key.Token)).toBe("0012")
  })

  it("reads the former name of the convergence deadline", () => {
    const { values } = loaded("Sandbox:Preview:DnsConvergenceTimeoutSeconds: 700")
    expect(values.Sandbox.Preview.GatewayConvergenceTimeoutSeconds).toBe(700)
  })

  it("makes the data folder absolute: from the file's folder, or else from the working directory", () => {
    expect(loaded("Data: { Directory: state }").values.Data.Directory).toBe("/etc/svc/state")
    expect(loaded(undefined, { SVC_DATA_DIR: "state" }).values.Data.Directory).toBe("/srv/state")
    expect(loaded("Data: { Directory: /abs }").values.Data.Directory).toBe("/abs")
    expect(loaded(undefined).values.Data.Directory).toBe("/srv/data")
  })

  it("reports every problem of the file and the environment at once, with its place", () => {
    const text = [
      "Server:",
      "  Prot: 1",
      "  Port: abc",
      "  AllowedHosts: example.com",
      "Port: 3",
      "sandbox: {}",
      "Sandbox: { AgentExecutionMode: pod }",
      "Auth:",
      "  Keys:",
      "    - User: ada",
      "    - Token: t1",
      "      User:",
      "        - nested",
      "    -",
      "Coordinator:AssemblyReviewTimeoutMinutes: 60",
    ].join("\n")
    expect(problems(text, { Server__Hots: "x", LOGGING__LEVEL: "loud", PORT: "http", Other__Thing: "1" })).toEqual([
      "svc.yml:2: Server:Prot: There is no such setting. Did you mean Server:Port?",
      'svc.yml:3: Server:Port: Expected a number, got "abc".',
      "svc.yml:4: Server:AllowedHosts: Expected a list.",
      "svc.yml:5: Port: There is no such setting. Did you mean Server:Port?",
      "svc.yml:6: sandbox: There is no such setting. Did you mean Sandbox?",
      'svc.yml:7: Sandbox:AgentExecutionMode: Expected "in-api" | "pod-per-run", got "pod".',
      "svc.yml:10: Auth:Keys:0:Token: This is missing.",
      "svc.yml:13: Auth:Keys:1:User: Expected a single value.",
      "svc.yml:14: Auth:Keys:2: This entry is empty.",
      "svc.yml:15: Coordinator:AssemblyReviewTimeoutMinutes: This was retired: a review waits for a person without limit. Remove it.",
      'env LOGGING__LEVEL: Logging:Level: Expected "trace" | "debug" | "info" | "warn" | "error" | "fatal", got "loud".',
      "env Server__Hots: Server:Hots: There is no such setting. Did you mean Server:Host?",
      'env PORT: Server:Port: Expected a number, got "http".',
    ])
  })

  it("reports rules between settings at the setting to change", () => {
    expect(problems("Auth:\n  ApiKey: k1\nSandbox:\n  Preview:\n    AllowedPortMin: 9500\n")).toEqual([
      "svc.yml:2: Auth:User: Auth:ApiKey needs Auth:User, the user whom the key stands for.",
      "svc.yml:5: Sandbox:Preview:AllowedPortMin: Expected at most Sandbox:Preview:AllowedPortMax, got 9500.",
    ])
  })

  it.each([
    ["a key twice", "Server:\n  Port: 1\n  Port: 2", "svc.yml:3: Server:Port: This key is written on line 2 already."],
    [
      "a setting twice, nested and with colons",
      "Server: { Port: 1 }\nServer:Port: 2",
      "svc.yml:2: Server:Port: This is set on line 1 already.",
    ],
    [
      "a tag",
      "Server:\n  Port: !!js/function 1",
      "svc.yml:2: : This is not valid YAML: Unresolved tag: tag:yaml.org,2002:js/function",
    ],
    ["a list as the whole", "- 1", "svc.yml:1: : Expected keys with values here."],
    ["a prototype key", "__proto__: { x: 1 }", "svc.yml:1: __proto__: There is no such setting."],
    [
      "two documents",
      "Server: {}\n---\nServer: {}",
      "svc.yml:2: : This is not valid YAML: Source contains multiple documents; please use YAML.parseAllDocuments()",
    ],
  ])("refuses %s", (_, text, problem) => {
    expect(problems(text)).toEqual([problem])
  })

  it("reports broken YAML with its line and nothing that follows from it", () => {
    const found = problems("Server:\n  Port: [1\nAuth: { Keys: 3 }\n")
    expect(found.length).toBeGreaterThan(0)
    for (const problem of found) expect(problem).toMatch(/^svc\.yml:\d: : This is not valid YAML/)
  })

  it("ends an alias that multiplies itself", () => {
    const levels = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for (let level = 0; level < 8; level++) {
      const [name, inner] = [String.fromCharCode(98 + level), String.fromCharCode(97 + level)]
      levels.push(`${name}: &${name} [${`*${inner},`.repeat(9)}]`)
    }
    expect(problems(levels.join("\n")).length).toBe(9) // nine unknown keys, none of them followed
    const nested = `Auth:\n  Keys:\n    - &k { Token: t, User: u }\n${"    - *k\n".repeat(6_000)}`
    expect(problems(nested)[0]).toContain("more than 5000 values")
  })
})

describe("variables in the file", () => {
  it("stand for their value, their default, or themselves", () => {
    const text = "Telemetry:ServiceName: '${A}-${B:-none}-$${C}'\nServer: { Port: '${P:-7}' }"
    const { values } = loaded(text, { A: "x" })
    expect(values.Telemetry.ServiceName).toBe("x-none-${C}")
    expect(values.Server.Port).toBe(7)
  })

  it("are all reported when they are missing", () => {
    expect(problems("Database: { Url: '${USER_X}:${PASS_X}' }\nServer: { Host: '${HOST_X}', Port: '${' }")).toEqual([
      "svc.yml:1: Database:Url: The variable USER_X is not set.",
      "svc.yml:1: Database:Url: The variable PASS_X is not set.",
      "svc.yml:2: Server:Host: The variable HOST_X is not set.",
      "svc.yml:2: Server:Port: Cannot read ${; write ${NAME} or ${NAME:-default}, or $${ for a plain ${.",
    ])
  })

  it("with an empty default leave the setting unset", () => {
    expect(loaded("Database: { Url: '${DB:-}' }").values.Database.Url).toBeUndefined()
  })
})

describe("the environment", () => {
  it("wins over the file, in any case, coerced to the setting's type", () => {
    const { values, sources } = loaded("Server: { Port: 1 }", {
      server__PORT: "2",
      Rai__FailClosedOnError: "off",
      UNRELATED: "x",
    })
    expect(values.Server.Port).toBe(2)
    expect(values.Rai.FailClosedOnError).toBe(false)
    expect(sourceText(sources.get("Server:Port"))).toBe("env server__PORT")
    expect(sources.get("Server:Host")).toBeUndefined()
  })

  it("still has the file's hidden values checked", () => {
    expect(problems("Server: { Port: x }", { PORT: "2" })).toEqual([
      'svc.yml:1: Server:Port: Expected a number, got "x".',
    ])
  })

  it("gives lists by index over the file's entries, or whole", () => {
    const file =
      "Auth: { Keys: [{ Token: a, User: ada }, { Token: b, User: bob }] }\nServer: { AllowedHosts: [x, y, z] }"
    const { values } = loaded(file, { Auth__Keys__0__User: "eve", Server__AllowedHosts: "h1, h2" })
    expect(values.Auth.Keys.map((key) => key.User)).toEqual(["eve", "bob"])
    expect(values.Server.AllowedHosts).toEqual(["h1", "h2"])
  })

  it("must not leave a hole in a list", () => {
    expect(problems(undefined, { Auth__Keys__1__Token: "t", Auth__Keys__1__User: "u" })).toEqual([
      "env Auth__Keys__1__User: Auth:Keys:0: The list has no such entry, but a later one.",
    ])
  })

  it.each([
    ["PORT", "81", (v: ReturnType<typeof loaded>["values"]) => v.Server.Port, 81],
    ["SVC_DATA_DIR", "/d", (v: ReturnType<typeof loaded>["values"]) => v.Data.Directory, "/d"],
    [
      "SANDBOX_PREVIEW_AUTO_APPROVE",
      "true",
      (v: ReturnType<typeof loaded>["values"]) => v.Sandbox.Preview.AutoApprove,
      true,
    ],
    [
      "OTEL_EXPORTER_OTLP_ENDPOINT",
      "http://c:4318",
      (v: ReturnType<typeof loaded>["values"]) => v.Telemetry.OtlpEndpoint,
      "http://c:4318",
    ],
    [
      "DATABASE_URL",
      "postgres://h/d",
      (v: ReturnType<typeof loaded>["values"]) => v.Database.Url && Redacted.value(v.Database.Url),
      "postgres://h/d",
    ],
    [
      "SVC_API_KEY",
      "k",
      (v: ReturnType<typeof loaded>["values"]) => v.Auth.InternalKey && Redacted.value(v.Auth.InternalKey),
      "k",
    ],
  ])("knows %s", (name, value, read, expected) => {
    expect(read(loaded(undefined, { [name]: value }).values)).toBe(expected)
  })

  it("prefers the setting's own name to the special one, and ignores empty variables", () => {
    expect(loaded(undefined, { PORT: "1", Server__Port: "2" }).values.Server.Port).toBe(2)
    expect(loaded(undefined, { PORT: "", Server__Port: "" }).values.Server.Port).toBe(5_000)
  })

  it("knows no settings by the names that every object has", () => {
    expect(problems("Server: { Host: '${constructor}' }", { constructor: "Object", __proto__x: "1" })).toEqual([])
    expect(problems("Server: { Host: '${toString}', Port: '${P:-valueOf}' }")).toEqual([
      "svc.yml:1: Server:Host: The variable toString is not set.",
      'svc.yml:1: Server:Port: Expected a number, got "valueOf".',
    ])
    expect(
      problems("Server: { toString: 1 }", { Rai__constructor: "x", Rai__FailClosedOnError: "constructor" }),
    ).toHaveLength(3)
  })

  it("refuses two variables of one setting", () => {
    expect(problems(undefined, { Server__Port: "1", SERVER__PORT: "2" })).toEqual([
      "env SERVER__PORT: Server:Port: Another variable sets this as well, in other letters.",
    ])
  })

  it("never repeats a secret in a problem", () => {
    const found = problems("Auth: { ApiKey: 'canary one', User: u }", {
      DATABASE_URL: "canary://u:canary@h",
      Auth__Keys__0__Token: "canary two",
      Providers__Byok__Headers__X: "canary\u0001",
    })
    expect(found).toHaveLength(5)
    expect(found.join("\n")).not.toMatch(/canary/)
  })
})
