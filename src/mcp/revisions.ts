/** The modern revisions that are served; discover and errors name the same (M-VER-01). */
export const SUPPORTED_REVISIONS: readonly string[] = ['2026-07-28']
