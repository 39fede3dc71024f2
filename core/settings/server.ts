/** Where the service listens, keeps its data, finds its database, and what it says of itself. */
import {
  absolutePath,
  choice,
  decimal,
  flag,
  formOf,
  free,
  httpUrl,
  integer,
  list,
  nested,
  optionalText,
  secret,
  section,
  someTexts,
  text,
  textOf,
  texts,
} from "#core/settings/field.ts"

const hostName = formOf("a host name or an IP address", /^[A-Za-z0-9._:[\]-]+$/)
const origin = formOf("an origin such as https://app.example.com, without a path", /^https?:\/\/[A-Za-z0-9._:[\]-]+$/i)
const databaseUrl = formOf("a postgres:// or postgresql:// address", /^postgres(?:ql)?:\/\/\S+$/i)
const pluginName = formOf("a plugin name in kebab-case", /^[a-z][a-z0-9-]{0,63}$/)

export const Server = section("The HTTP server.", {
  Port: integer("TCP port; 0 takes any free one.", 5_000, { min: 0, max: 65_535 }),
  Host: textOf("Address to listen on; 0.0.0.0 or :: for every interface.", "127.0.0.1", hostName),
  AllowedHosts: texts("Host names that requests may be addressed to; empty allows any.", hostName),
  CorsOrigins: texts("Origins whose pages may call the API with credentials; empty allows none.", origin),
  MaxBodyBytes: integer("Largest request body, in bytes, where a route says nothing else.", 1_048_576, {
    min: 1_024,
    max: 67_108_864,
  }),
  RequestTimeoutSeconds: integer("Seconds until a request that is not a stream is given up.", 30, { min: 1, max: 600 }),
  ShutdownSeconds: integer("Seconds that work in progress has to end after SIGTERM.", 8, { min: 0, max: 300 }),
})

export const Data = section("What is kept on disk.", {
  Directory: text(
    "Folder of the embedded database, checkouts and the local key; relative to the settings file, or else to the working directory.",
    "./data",
  ),
})

export const Database = section("PostgreSQL.", {
  Url: secret("Address of a PostgreSQL server, 15 or newer; absent starts the embedded one.", databaseUrl),
  PoolSize: integer("Connections for requests; the event log has a few of its own beside them.", 10, {
    min: 1,
    max: 500,
  }),
  QueryTimeoutSeconds: decimal("Seconds until a statement is given up and answered with 503.", 5, {
    min: 0.1,
    max: 600,
  }),
})

export const Logging = section("What is written to standard output.", {
  Level: choice(
    "The least severe level that is written.",
    ["trace", "debug", "info", "warn", "error", "fatal"],
    "info",
  ),
  Format: choice("`auto` is pretty on a terminal and JSON elsewhere.", ["auto", "json", "pretty"], "auto"),
})

export const Telemetry = section("Traces and metrics for an OpenTelemetry collector.", {
  OtlpEndpoint: optionalText("Base address for OTLP over HTTP, without /v1/traces; absent sends nothing.", httpUrl),
  ServiceName: text("The name that the collector shows.", "svc"),
  PublicMetrics: flag("Whether GET /metrics answers without a credential.", false),
})

const packageName = formOf("the name of an npm package", /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/)

const nativePlugin = section(
  "A plugin of your own that runs in this process, with all its rights.",
  {
    Name: pluginName.annotate({ description: "The plugin's own name; it must be the one that its module says." }),
    Path: optionalText("Its module, relative to the working directory; this or Package."),
    Package: optionalText("The npm package that it comes in, as installed beside the working directory.", packageName),
  },
  ({ Path, Package }) =>
    (Path === undefined) === (Package === undefined) ? [{ path: [], issue: "Expected either Path or Package" }] : [],
)

const grantable = formOf(
  "net, config or kv, or one permission such as net:https://api.example.com",
  /^(?:kv|config(?::[A-Za-z][A-Za-z0-9_.-]*)?|net(?::https:\/\/[a-z0-9.:-]+)?)$/,
).annotate({ description: "All permissions of a kind, or one of them." })

const PolicyCeiling = section("The most that one answer of any policy may cost; its manifest may ask for less.", {
  MemoryMiB: integer("MiB of memory.", 64, { min: 1, max: 1_024 }),
  Fuel: integer("Units of fuel: about one for each instruction.", 1_000_000_000, { min: 1_000, max: 100_000_000_000 }),
  InputKiB: integer("KiB of a question.", 1_024, { min: 1, max: 16_384 }),
  OutputKiB: integer("KiB of an answer.", 1_024, { min: 1, max: 16_384 }),
  WallClockMilliseconds: integer("Milliseconds, where it runs in threads of its own.", 2_000, { min: 1, max: 60_000 }),
})

export const Plugins = section("Which plugins run.", {
  Enabled: texts("Names of the plugins that run; empty means every built-in one and every one of Native.", pluginName),
  Directory: optionalText(
    "Folder of the policies that are installed, an absolute path that all replicas share; absent means plugins in the data folder.",
    absolutePath,
  ),
  Grantable: someTexts(
    "What policies may be granted at all; an empty list is nothing.",
    ["config", "kv", "net"],
    grantable,
  ),
  Ceiling: nested(PolicyCeiling),
  Native: list("Third-party plugins, loaded into this process.", nativePlugin),
  Settings: free("The settings of each plugin, by its name; what may be set is the plugin's to say."),
})
