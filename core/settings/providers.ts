/** Where models and skills come from. */
import { Schema } from "effect"
import {
  choice,
  flag,
  formOf,
  httpUrl,
  integer,
  list,
  modelId,
  nested,
  optionalText,
  requiredSecret,
  secret,
  section,
} from "#core/settings/field.ts"

const headerName = formOf("a header name", /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/)

/** Between the smallest that holds an agent's instructions and more than any model has. */
const contextTokens = Schema.optionalKey(
  Schema.Int.check(Schema.isBetween({ minimum: 4_096, maximum: 100_000_000 })).annotate({
    description: "Tokens that the model reads and writes together, where the built-in table is wrong.",
  }),
)

/** 32 bytes. */
const sealingKey = formOf("32 bytes in base64, as `openssl rand -base64 32` prints them", /^[A-Za-z0-9+/]{43}=$/)

const Hosted = section("The provider of the platform.", {
  Model: optionalText("Model of a run that names none.", modelId),
  BaseUrl: optionalText("Address of the provider's API: any that speaks OpenAI's chat completions.", httpUrl),
  ApiKey: secret("Key of the provider's API; a server of one's own may need none."),
  ContextTokens: contextTokens,
})

const Byok = section("A provider that the customer brings.", {
  Type: choice("Which API the provider speaks.", ["openai", "azure", "anthropic"], "openai"),
  BaseUrl: optionalText("Address of the provider's API.", httpUrl),
  ApiKey: secret("Key of the provider's API."),
  Model: optionalText("Model of a run that names none.", modelId),
  WireApi: choice("Which of OpenAI's two interfaces is used.", ["completions", "responses"], "completions"),
  AzureApiVersion: optionalText(
    "Version of the Azure interface, such as 2024-10-21.",
    formOf("a version such as 2024-10-21 or 2025-01-01-preview", /^(?:v\d+|\d{4}-\d{2}-\d{2}(?:-preview)?)$/),
  ),
  Headers: Schema.optionalKey(
    Schema.Record(headerName, requiredSecret("Value of the header.")).annotate({
      description: "Headers to send with every request.",
    }),
  ),
  ContextTokens: contextTokens,
})

const Scripted = section("Answers from a script instead of a model, for demonstrations and tests.", {
  Path: optionalText("The script, a YAML file; relative to the working directory."),
})

const Tape = section(
  "Exchanges with models, recorded in a file.",
  {
    Mode: choice(
      "`record` writes what every source answers; `replay` lets the source `tape` answer from the file.",
      ["off", "record", "replay"],
      "off",
    ),
    Path: optionalText("The tape, a file of JSON lines; relative to the working directory."),
    Names: Schema.optionalKey(
      Schema.Record(Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9-]{0,31}$/)), Schema.String).annotate({
        description: "Texts that differ from machine to machine, such as the path of a repository, by a name for them.",
      }),
    ),
  },
  ({ Mode, Path }) =>
    Mode !== "off" && Path === undefined ? [{ path: ["Path"], issue: "A tape needs a path to be used" }] : [],
)

export const Providers = section("Providers of models.", {
  Default: choice(
    "Where the models of a run come from that names no source; `scripted` and `tape` are no models and say so.",
    ["hosted", "byok", "scripted", "tape"],
    "hosted",
  ),
  Hosted: nested(Hosted),
  Byok: nested(Byok),
  Scripted: nested(Scripted),
  Tape: nested(Tape),
  MaxAttempts: integer("How often one request is tried before the first part of its answer has come.", 5, {
    min: 1,
    max: 20,
  }),
  IdleTimeoutSeconds: integer("Seconds without any part of an answer until it is given up.", 300, {
    min: 1,
    max: 3_600,
  }),
  SealingKey: secret(
    "Seals the keys of providers that administrators add, in the database; every replica needs the same. Absent: a key of its own in the data folder.",
    sealingKey,
  ),
  OldSealingKeys: list(
    "Keys that were used before and still open what they sealed.",
    requiredSecret("A key.", sealingKey),
  ),
})

export const Generation = section("Models that write blueprints, workflows and outcome specifications.", {
  Model: optionalText("Model of the three below where they name none.", modelId),
  BlueprintModel: optionalText("Model that writes blueprints.", modelId),
  WorkflowModel: optionalText("Model that writes workflows.", modelId),
  OutcomeSpecModel: optionalText("Model that writes outcome specifications.", modelId),
})

const Marketplace = section("One curated source of skills.", {
  Name: formOf("a name in kebab-case", /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/).annotate({
    description: "The name in browse and import; wins over a project's source of the same name.",
  }),
  Repository: formOf("owner/repo, or an https:// address", /^(?:[\w.-]+\/[\w.-]+|https:\/\/\S+)$/).annotate({
    description: "Where the skills are.",
  }),
  Subpath: optionalText(
    "Folder in the repository.",
    formOf("a relative path without ..", /^(?!\/)(?!.*(?:^|\/)\.\.(?:\/|$)).+$/),
  ),
  Branch: optionalText("Branch; absent means the repository's default one."),
  Enabled: flag("A source that is off disappears from browse; imported skills stay.", true),
})

export const SkillMarketplaces = section("Curated sources of skills.", {
  Definitions: list("The sources.", Marketplace, (definitions) => {
    const names = definitions.map((definition) => definition.Name)
    return names.flatMap((name, index) =>
      names.indexOf(name) < index ? [{ path: [index, "Name"], issue: "This name is used twice" }] : [],
    )
  }),
})
