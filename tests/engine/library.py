"""Documents that refer to each other, by pages and clauses, for the tests of reading and references."""

from __future__ import annotations

FERRIES = """---
title: ISO 4711:2020 Ferries
document_type: standard
---
# Ferries

Opening words of the whole standard.

<!-- page 1 -->

## 1 Scope

This document, ISO 4711:2020, covers ferries on rivers. It is read with 5.3.1 and Annex B.

## 2 Terms

### 2.1 berth

place where a ferry lies

### 2.2 draught

depth of water that a ferry needs

## 5 Mooring

<!-- page 2 -->

A ferry is moored at both ends, as Table 4 says.

### 5.3 Lines

Lines are kept dry. See 5.3.1 for how many.

#### 5.3.1 Number of lines

A ferry shall be moored with at least four lines, see 5.9 and ISO 9999.

#### 5.3.2 Care of lines

<!-- page 3 -->

Each line shall be looked at once a week; IEEE 777:2019, 2.1 tells how. See [Tides](tides.md#rising-water).

Table 4 - Lines by length of the ferry

| Length | Lines |
| --- | --- |
| 10 m | 4 |
| 20 m | 6 |

### 5.4 General

What stands here is general.

## 6 Crew

### 6.1 General

The crew is two. In accordance with 5.3.1 one of them is on the pier.

## Annex B (informative) Knots

### B.1 Bowline

The bowline is the knot of 5.3.2.
"""

PIERS = """---
title: Piers
document_type: guide
---
# Piers

## 1 Loads

A pier carries the pull of four lines (ISO 4711:2020, 5.3.1). The tide is told by ISO 4711.

## 2 Names

The edition ISO 4711:2011 is no longer used. RFC 1 has nothing to do with it.
"""

TIDES = """---
title: IEEE 777:2019 Tides
document_type: standard
---
# Tides

## Rising water

Water rises twice a day.

## 2 Looking

### 2.1 Once a week

Look at the water, and at the line.
"""
"""A document whose first section has no number."""
