/** A project: a name, a working directory with a repository in it, and what its runs start from. */
export const origins = ["blank", "remote"] as const
export type Origin = (typeof origins)[number]

export const providers = ["hosted", "byok"] as const
export type Provider = (typeof providers)[number]

/** The models that a project sets; null inherits the default of the service. */
export interface ProjectModels {
  readonly defaultModelHosted: string | null
  readonly defaultModelByok: string | null
  readonly blueprintGenerationModel: string | null
  readonly workflowGenerationModel: string | null
  readonly outcomeSpecGenerationModel: string | null
}

export interface PreviewSettings {
  readonly previewApprovalTimeoutMinutes: number
  readonly previewLifetimeMinutes: number
  readonly previewDnsConvergenceTimeoutSeconds: number
}

export interface Project extends ProjectModels, PreviewSettings {
  readonly projectId: string
  readonly name: string
  readonly origin: Origin
  readonly sourceRepository: string | null
  readonly workingDirectory: string
  readonly defaultBranch: string
  /** Who created it. What people may do is in the role assignments. */
  readonly owner: string
  readonly defaultProvider: Provider
  readonly sourceBlueprintId: string | null
  readonly sourceBlueprintType: string | null
  readonly allowedWorkflowIds: ReadonlyArray<string> | null
  readonly state: "active" | "deleting"
  readonly createdAt: string
  readonly updatedAt: string
}
