/** Where models and skills come from. */
import { Schema } from "effect"
import {
  choice,
  flag,
  formOf,
  httpUrl,
  list,
  modelId,
  nested,
  optionalText,
  requiredSecret,
  secret,
  section,
} from "#core/settings/field.ts"

const headerName = formOf("a header name", /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/)

const Hosted = section("The provider of the platform.", {
  Model: optionalText("Model of a run that names none.", modelId),
  BaseUrl: optionalText("Address of the provider's API.", httpUrl),
  ApiKey: secret("Key of the provider's API."),
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
})

export const Providers = section("Providers of models.", {
  Default: choice("The provider of a project that names none.", ["hosted", "byok"], "hosted"),
  Hosted: nested(Hosted),
  Byok: nested(Byok),
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
