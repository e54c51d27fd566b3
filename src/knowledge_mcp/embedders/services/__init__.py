"""Paid services: OpenAI and Azure OpenAI."""
