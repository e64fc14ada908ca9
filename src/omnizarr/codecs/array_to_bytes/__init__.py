"""Array → bytes codecs (serializers)."""
