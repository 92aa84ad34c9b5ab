import math
import torch
from torch import nn

torch.manual_seed(3)
x = torch.randn(1, 4, 8)


class EncoderLayer(nn.Module):
    def __init__(self, width, heads, feed_forward):
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(width, width)
        self.W_k = nn.Linear(width, width)
        self.W_v = nn.Linear(width, width)
        self.W_o = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width)
        self.linear1 = nn.Linear(width, feed_forward)
        self.linear2 = nn.Linear(feed_forward, width)
        self.norm2 = nn.LayerNorm(width)

    def attention(self, x):
        q, k, v = (W(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for W in (self.W_q, self.W_k, self.W_v))
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
        return self.W_o((weights @ v).transpose(1, 2).flatten(2)), weights

    def forward(self, x):
        attended, weights = self.attention(x)
        x = self.norm1(x + attended)
        return self.norm2(x + self.linear2(torch.relu(self.linear1(x)))), weights


output, self_weights = EncoderLayer(8, 2, 32)(x)
print(self_weights[0, 0])
print(output[0, 0])
