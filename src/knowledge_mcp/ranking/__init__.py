"""Hits to better hits: fusion of the legs, reranking, calibration of scores."""
