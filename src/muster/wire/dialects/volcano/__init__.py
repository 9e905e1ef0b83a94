"""Jobs of Volcano, with its plugins and its lifecycle policies."""
