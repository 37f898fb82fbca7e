import type { LegacyRevision } from './revision.ts'

/** The modern revisions that are served; discover and errors name the same (M-VER-01). */
export const SUPPORTED_REVISIONS: readonly string[] = ['2026-07-28']

/** The revisions that upstreams may speak, newest first (L-LIF-02). */
export const LEGACY_REVISIONS: readonly LegacyRevision[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
]
